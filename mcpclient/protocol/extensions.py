"""Extensions: what either side can do beyond the protocol.

An extension has a name with a prefix, such as ``io.modelcontextprotocol/ui``, and is declared with
an object that holds its settings. Source: the "Extensions" page and SEP-2133.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError

SKILLS = "io.modelcontextprotocol/skills"
"""Skills over MCP (SEP-2640)."""

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"


def checked_extensions(extensions: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the caller's extensions as they are declared to a server.

    Raises `UsageError` for a name that no extension can have, and for settings that are not a
    mapping.
    """
    for name, settings in extensions.items():
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            raise UsageError(f"an extension is named like com.example/name, not {name!r}")
        if not isinstance(settings, Mapping):
            raise UsageError(f"the settings of extension {name} are a mapping, {{}} for none")
    return {name: dict(settings) for name, settings in extensions.items()}


def extensions_of(capabilities: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the extensions that a server declares, with their settings."""
    declared = capabilities.get("extensions")
    found = declared if isinstance(declared, dict) else {}
    return {name: value for name, value in found.items() if isinstance(value, dict)}

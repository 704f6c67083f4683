"""Elicitation: what a server may ask a user, and which answers fit.

Sources: the "Elicitation" pages of revisions 2025-06-18 to 2026-07-28, SEP-1034 (defaults),
SEP-1330 (choices) and SEP-1036 (URL mode).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..errors import ProtocolViolation
from .wire_object import Field, WireObject

__all__ = [
    "ACTIONS",
    "ElicitationRequest",
    "check_request",
    "content_problem",
    "with_defaults",
]

ACTIONS = ("accept", "decline", "cancel")

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ElicitationRequest(WireObject):
    """What the server asks of the user.

    ``server``: the name or address of the server, so that the user can be told who asks.
    """

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str = "") -> None:
        super().__init__(raw)
        self.server = server

    message = Field("message", (str,), "", "What is asked and why, for the user.")
    mode = Field("mode", (str,), "form", '``"form"`` or ``"url"``.')
    url: Field[str | None] = Field("url", (str,), None, "Where the user should go (URL mode).")
    elicitation_id: Field[str | None] = Field(
        "elicitationId", (str,), None, "The name of a visit (URL mode until 2025-11-25)."
    )

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the form: an object of simple fields, exactly as sent."""
        value = self.raw.get("requestedSchema")
        return value if isinstance(value, dict) else {}

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """The schema of each field of the form, by its name."""
        value = self.schema.get("properties")
        properties = value if isinstance(value, dict) else {}
        return {name: field for name, field in properties.items() if isinstance(field, dict)}

    @property
    def required(self) -> list[str]:
        """The names of the fields that must be filled in."""
        value = self.schema.get("required")
        return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of every field that has one."""
        return {name: field["default"] for name, field in self.fields.items() if "default" in field}

    @property
    def host(self) -> str:
        """The host of the URL, to be shown with emphasis; empty in form mode."""
        return _split(self.url).hostname or ""

    @property
    def url_warnings(self) -> list[str]:
        """What a user should be warned of before opening the URL, as text."""
        if self.url is None:
            return []
        parts, host = _split(self.url), self.host
        warnings = []
        if parts.scheme.lower() != "https" and host not in _LOOPBACK:
            warnings.append("the connection would not be encrypted")
        if "@" in parts.netloc:
            warnings.append("what stands before the @ only looks like the name of a host")
        if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
            warnings.append("the host has letters that can look like others")
        return warnings


def check_request(request: ElicitationRequest, modes: Mapping[str, object]) -> None:
    """Raise `ProtocolViolation` for a request in none of the declared modes, or a broken one."""
    if request.mode not in modes:
        raise ProtocolViolation(f"elicitation mode {request.mode!r} was not declared")
    if request.mode == "url":
        _check_url(request.url)
    elif not isinstance(request.schema.get("properties"), dict):
        raise ProtocolViolation("elicitation/create came without a requestedSchema of properties")
    if not isinstance(request.raw.get("message"), str):
        raise ProtocolViolation("elicitation/create came without a message for the user")


def _split(url: str | None) -> SplitResult:
    """The parts of a URL, all of them empty when it is none."""
    try:
        return urlsplit(url or "")
    except ValueError:
        return urlsplit("")


def _check_url(url: str | None) -> None:
    parts = _split(url)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise ProtocolViolation("elicitation/create came without an http or https URL to visit")


def with_defaults(request: ElicitationRequest, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content, with the defaults of the form for the fields that are missing."""
    return {**request.defaults, **content}


def content_problem(content: Mapping[str, Any]) -> str | None:
    """Say which part of an answer's content no form can hold; None when all is well.

    A value is a string, a number, a boolean or a list of strings, and nothing else
    (``ElicitResult`` in ``schema.ts``). The text names fields, never values.
    """
    for name, value in content.items():
        if not isinstance(name, str):
            return "the name of a field is not a string"
        is_choice = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not is_choice and not isinstance(value, (str, int, float, bool)):
            return f"{name} is neither text, a number, true, false, nor a list of texts"
    return None

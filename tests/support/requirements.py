"""Modules that only some Pythons have, or for which there is a release for some Pythons only."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import pytest

# The Python from on which tests/requirements.txt, or Python itself, has them.
SINCE = {
    "anthropic": (3, 10),
    "botocore": (3, 10),
    "cryptography": (3, 9),
    "google": (3, 11),
    "openai": (3, 10),
    "pydantic": (3, 10),
    "tomllib": (3, 11),
}


def required(module: str) -> Any:
    """Return a module, or skip the test: where this Python lacks it, or it is not installed.

    In CI what can be installed is installed, so there it is an error that it is not.
    """
    since = SINCE[module.partition(".")[0]]
    if sys.version_info < since:
        pytest.skip(f"{module} needs Python {since[0]}.{since[1]}", allow_module_level=True)
    return import_module(module) if os.environ.get("CI") == "true" else pytest.importorskip(module)

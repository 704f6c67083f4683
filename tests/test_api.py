"""F-PACK-6: the public API is written down, and a change of it is deliberate."""

from __future__ import annotations

import difflib

import pytest

import mcpclient
from tests.tools.public_api import API, described


def test_the_public_api_is_the_one_that_is_written_down() -> None:
    """F-PACK-6: renew the file by ``python -m tests.tools.public_api``, and tell the changelog."""
    written, found = API.read_text("utf-8").splitlines(), described().splitlines()
    assert written == found, "\n".join(difflib.unified_diff(written, found, "api.txt", lineterm=""))


def test_a_deprecated_name_warns_with_the_new_one() -> None:
    error = mcpclient.UsageError("it failed").advise("try again")
    with pytest.warns(DeprecationWarning, match="hint"):
        assert error.cure == error.hint == "try again"

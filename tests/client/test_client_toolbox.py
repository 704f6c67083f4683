"""The way from a client to the tools of a model: F-TOOL-7."""

from __future__ import annotations

import pytest

import mcpclient
from mcpclient.adapters.toolbox import Toolbox

SERVER = "mcpclient/testing/demo_server.py"


def test_a_client_has_a_toolbox_for_each_provider() -> None:
    """F-TOOL-7"""
    assert isinstance(mcpclient.connect(SERVER).toolbox("anthropic"), Toolbox)


def test_a_provider_that_there_is_not_is_said() -> None:
    """F-TOOL-7"""
    with pytest.raises(mcpclient.UsageError, match="anthropic"):
        mcpclient.connect(SERVER).toolbox("antropic")

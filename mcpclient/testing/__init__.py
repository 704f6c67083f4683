"""Helpers for tests of MCP servers, and of programs that use them.

A program's tests record its servers once and replay the recording: `cassette`. A server's tests
connect to it in memory (``mcpclient.connect(server)``) and compare its tools with a file:
`check_tools`. `mcpclient.testing.pytest_plugin` has pytest fixtures for both; the rest does not
need pytest.
"""

from __future__ import annotations

from .cassettes import Cassette, Mode, cassette, check_tools, tools_text

__all__ = ["Cassette", "Mode", "cassette", "check_tools", "tools_text"]

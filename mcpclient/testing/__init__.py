"""For tests: of programs that use MCP servers, and of MCP servers.

A program's tests record what its servers say once, and replay it: `cassette`. A server's tests
connect to it in memory (``mcpclient.connect(server)``), and hold the list of its tools to a file:
`check_tools`. For pytest there are fixtures of both, see `mcpclient.testing.pytest_plugin`; nothing
here needs pytest.
"""

from __future__ import annotations

from .cassettes import Cassette, Mode, cassette
from .snapshots import check_tools, tools_text

__all__ = ["Cassette", "Mode", "cassette", "check_tools", "tools_text"]

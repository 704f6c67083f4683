"""F-MANY-17 and F-TOOL-7: finding tools by words."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.tool_search import search_tools
from mcpclient.protocol.types import Tool


def tool(name: str, description: str = "", title: str = "", **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties}
    raw = {"name": name, "description": description, "title": title, "inputSchema": schema}
    return Tool(raw)


ISSUES = tool("github__search_issues", "Find issues by words", q={"description": "the query"})
CREATE = tool("github__createIssue", "Open a new issue")
FILES = tool("files__read", "Read a file", path={"type": "string"})
MAIL = tool("mail__send", "Send a message", "Send mail", recipient={"description": "an address"})
TOOLS = [ISSUES, CREATE, FILES, MAIL]


def names(query: str, **options: Any) -> list[str]:
    return [found.name for found in search_tools(query, TOOLS, **options)]


def test_no_word_fits_and_limits() -> None:
    """F-MANY-17."""
    assert names("zebra") == []
    assert names("") == []
    assert names("issue", limit=1) == ["github__createIssue"]
    assert names("issue", limit=0) == []

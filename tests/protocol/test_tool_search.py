"""F-MANY-17 and F-TOOL-7: finding tools by words."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.protocol.tool_search import search_tools
from mcpclient.protocol.types import Tool
from tests.support.strategies import hostile_json, texts


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


def test_words_of_names_descriptions_titles_and_parameters() -> None:
    """F-MANY-17."""
    assert names("read") == ["files__read"]
    assert names("message") == ["mail__send"]
    assert names("MAIL") == ["mail__send"]
    assert names("recipient") == ["mail__send"]
    assert names("address") == ["mail__send"]


def test_a_name_counts_more_than_a_description() -> None:
    """F-MANY-17: the word that stands in the name decides."""
    described = tool("other", "How to send things")
    assert search_tools("send", [described, MAIL]) == [MAIL, described]


def test_parts_of_names_and_plurals_are_found() -> None:
    """F-MANY-17: underscores and capitals part words; a plural finds its singular."""
    assert names("create issues") == ["github__createIssue", "github__search_issues"]


def test_a_rare_word_counts_more() -> None:
    """F-MANY-17: what every tool has says nothing about any of them."""
    tools = [tool(f"a{number}", "data of the shop") for number in range(5)]
    tools.append(tool("b", "data about weather"))
    assert search_tools("data weather", tools)[0].name == "b"


def test_the_whole_name_comes_first() -> None:
    """F-MANY-17."""
    long = tool("read_read", "read read")
    exact = tool("read")
    assert search_tools("read", [long, exact]) == [exact, long]


def test_no_word_fits_and_limits() -> None:
    """F-MANY-17."""
    assert names("zebra") == []
    assert names("") == []
    assert names("issue", limit=1) == ["github__createIssue"]
    assert names("issue", limit=0) == []


def test_two_letters_find_no_beginnings() -> None:
    assert names("fi") == []


@given(texts, st.lists(hostile_json({"name", "description", "inputSchema", "properties"})))
def test_any_list_of_tools_can_be_searched(query: str, values: list[object]) -> None:
    """F-MANY-17: odd definitions are ranked like any other."""
    tools = [Tool(value) for value in values if isinstance(value, dict)]
    found = search_tools(query, tools, limit=3)
    assert len(found) <= 3
    assert all(one in tools for one in found)


def test_words_that_say_nothing() -> None:
    """F-TOOL-9: as questions are full of; alone, they are words like others."""
    the = tool("the_end", "What is the end of the file for you")
    found = search_tools("what is the tool for the mail", [the, MAIL])
    assert [one.name for one in found] == ["mail__send"]
    assert search_tools("the", [MAIL, the]) == [the]

"""The choice of offered tools: F-MANY-13."""

from __future__ import annotations

import pytest

import mcpclient
from mcpclient import Manager
from mcpclient.manager.naming import fits_pair, is_offered
from tests.manager.fleet import Member
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time


@each_row(
    ("include", "exclude", "offered"),
    [
        (("get*",), (), ["get", "get_all"]),
        ((), ("*delete*",), ["get", "get_all", "Get"]),
        (("*",), ("[gG]et",), ["get_all", "delete"]),
        (("nothing",), (), []),
    ],
)
def test_patterns(include: tuple[str, ...], exclude: tuple[str, ...], offered: list[str]) -> None:
    """F-MANY-13: an excluded tool is out, whatever is included."""
    tools = ["get", "get_all", "Get", "delete"]
    assert [tool for tool in tools if is_offered(tool, include, exclude)] == offered


async def test_a_vetted_subset_of_an_editor() -> None:
    """F-MANY-13, seed 002 (15.6.1): whatever else the server offers, now or later, is not there."""
    member = Member("executeCode", "getDiagnostics", "closeAllTabs")
    include = ("executeCode", "getDiagnostics")
    ide = mcpclient.ServerConfig("ide", target=member, include=include)
    async with Manager({"ide": ide}, naming="mcp__server__tool") as manager:
        assert [each.name for each in manager.tools] == [
            "mcp__ide__executeCode",
            "mcp__ide__getDiagnostics",
        ]
        refused = await manager["ide"].call_tool("closeAllTabs")
        assert (refused.is_error, member.calls) == (True, [])
        assert "the configuration of its server leaves it out" in refused.text
        assert not (await manager.call_tool("mcp__ide__executeCode")).is_error


@each_row(
    ("pattern", "server", "tool", "fits"),
    [
        ("create_*", "github", "create_issue", True),
        ("create_*", "evil", "create_issue", True),
        ("github/create_*", "github", "create_issue", True),
        ("github/create_*", "evil", "create_issue", False),
        ("github/create_*", "evil", "github/create_issue", False),
        ("github/*", "github/evil", "x", False),
        ("github/evil/x", "github/evil", "x", True),
        ("*/x", "a", "x", True),
        ("github__*", "github", "create_issue", False),
        ("*", "a", "b/c", True),
    ],
)
def test_patterns_of_pairs(pattern: str, server: str, tool: str, fits: bool) -> None:
    """F-SAFE-4: a tool is its server and its name, and no name of a tool says another server."""
    assert fits_pair(pattern, server, tool) is fits

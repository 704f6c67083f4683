"""Resources and prompts of many servers: F-MANY-10, seed 004."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

import pytest

from mcpclient import Manager
from mcpclient.errors import PeerError, UsageError
from mcpclient.manager.resources import find_resource_server, split_prompt_name
from tests.manager.fleet import Member
from tests.support.virtual_time import run

OFFERED: dict[str, Collection[str]] = {"a": {"file:///x", "mem://1"}, "b": {"file:///x", "a:mem"}}


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("mem://1", ("a", "mem://1")),
        ("a:mem", ("b", "a:mem")),  # a URI of the server's own goes first
        ("b:file:///y", ("b", "file:///y")),
        ("closed:file:///y", ("closed", "file:///y")),
    ],
)
def test_whose_resource_it_is(uri: str, found: tuple[str, str]) -> None:
    """F-MANY-10"""
    assert find_resource_server(uri, OFFERED, ["a", "b", "closed"]) == found


def test_resources_that_several_or_none_have() -> None:
    """F-MANY-10: said, and not guessed; with one server there is nothing to guess."""
    with pytest.raises(UsageError, match="is offered by a, b: say server="):
        find_resource_server("file:///x", OFFERED, ["a", "b"])
    with pytest.raises(UsageError, match="no server lists 'file:///z'"):
        find_resource_server("file:///z", OFFERED, ["a", "b"])
    assert find_resource_server("file:///z", {"a": ()}, ["a"]) == ("a", "file:///z")


def test_names_of_prompts() -> None:
    """F-MANY-10, seed 004: the longest name of a server that fits is meant."""
    assert split_prompt_name("a:b:c", ["a", "a:b"]) == ("a:b", "c")
    assert split_prompt_name("a:review", ["a", "b"]) == ("a", "review")
    with pytest.raises(UsageError, match=r"server:prompt, not 'review'"):
        split_prompt_name("review", ["a"])
    with pytest.raises(UsageError, match="did you mean the server 'github'"):
        split_prompt_name("githb:review", ["github"])


def member(**answers: Any) -> Member:
    listed = {"resources": [{"uri": "mem://1", "name": "one"}]}
    found: dict[str, Any] = {
        "resources/list": listed,
        "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": "r"}]},
        "prompts/list": {"prompts": [{"name": "review"}]},
        "prompts/get": lambda params: {"messages": [], "description": params["name"]},
    }
    return Member(answers={**found, **answers}, capabilities={"resources": {}, "prompts": {}})


def test_of_all_servers(caplog: pytest.LogCaptureFixture) -> None:
    """F-MANY-10: each with its server; one that cannot list them harms no other."""

    def refuse(params: object) -> Any:
        raise PeerError(-32603, "broken")

    async def main() -> None:
        servers = {
            "a": member(),
            "b": member(),
            "broken": member(**{"resources/list": refuse}),
            "without": Member("x"),
        }
        async with Manager(servers) as manager:
            resources = await manager.list_resources()
            assert [(each.server, each.uri) for each in resources] == [
                ("a", "mem://1"),
                ("b", "mem://1"),
            ]
            assert "broken: its resources were not listed" in caplog.text
            assert repr(resources[0]) == "<mcpclient.ManagedResource a:mem://1>"
            assert (await manager.read_resource("b:mem://1")).contents[0].text == "r"
            assert (await manager.read_resource("mem://7", server="a")).contents[0].uri == "mem://7"
            prompts = await manager.list_prompts()
            assert [(each.name, each.raw_name) for each in prompts] == [
                ("a:review", "review"),
                ("b:review", "review"),
                ("broken:review", "review"),
            ]
            assert repr(prompts[0]) == "<mcpclient.ManagedPrompt a:review>"
            got = await manager.get_prompt("b:review", {"x": "1"})
            assert got.description == "review"
            assert servers["b"].script.sent("prompts/get") == [
                {"name": "review", "arguments": {"x": "1"}}
            ]

    with caplog.at_level(logging.WARNING):
        run(main())

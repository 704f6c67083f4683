"""Names across servers: F-MANY-11, seeds 000, 002 (15.5.2) and 004."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import parse_tool_name
from mcpclient.errors import UsageError
from mcpclient.manager.naming import ToolNames


def names_for(naming: Any, *servers: tuple[str, list[str]], limit: int = 64) -> dict[str, Any]:
    names = ToolNames(naming, limit, [server for server, _ in servers])
    for server, tools in servers:
        names.assign(server, tools)
    return {server: dict(names.names_of(server)) for server, _ in servers}


@pytest.mark.parametrize(
    ("naming", "name"),
    [
        ("server__tool", "my-jira__search_issues"),
        ("mcp__server__tool", "mcp__my-jira__search_issues"),
        ("server_tool", "my-jira_search_issues"),
        ("tool", "search_issues"),
        (lambda server, tool: f"{tool}.of.{server}", "search_issues_of_my-jira"),
    ],
)
def test_styles(naming: Any, name: str) -> None:
    """F-MANY-11, seed 000 (``ns__tool``), seed 002 (``mcp__…``), seed 004 (``server_tool``)."""
    assert names_for(naming, ("my-jira", ["search_issues"])) == {"my-jira": {"search_issues": name}}


def test_a_server_may_have_a_way_of_its_own() -> None:
    """F-MANY-15, F-MANY-11: the others keep to the common one, and a collision is one all the
    same.
    """
    names = ToolNames("server__tool", 64, ["a", "b"])
    names.add_server("b", "tool")
    names.add_server("c", lambda server, tool: f"{tool}_of_{server}")
    for server in ("a", "b", "c"):
        names.assign(server, ["a__x", "x"])
    assert names.names_of("a") == {"a__x": "a__a__x", "x": "a__x"}
    assert names.names_of("b") == {"a__x": "a__x_2", "x": "x"}
    assert names.names_of("c") == {"a__x": "a__x_of_c", "x": "x_of_c"}
    with pytest.raises(UsageError, match="naming is a function or one of"):
        names.add_server("d", "server-tool")  # type: ignore[arg-type]


def test_characters_that_do_not_fit_become_underscores() -> None:
    """F-MANY-11: and the original name is what the server is called with."""
    names = ToolNames("server__tool", 64)
    names.assign("my.jira cloud", ["get/issue", "größe"])
    assert names.names_of("my.jira cloud") == {
        "get/issue": "my_jira_cloud__get_issue",
        "größe": "my_jira_cloud__gr__e",
    }
    assert names.owner("my_jira_cloud__get_issue") == ("my.jira cloud", "get/issue")


def test_names_are_looked_up_and_never_parsed() -> None:
    """F-MANY-11: ``__`` in the name of a server or a tool leads nobody astray."""
    names = ToolNames("server__tool", 64, ["a", "a__b"])
    names.assign("a__b", ["c"])
    names.assign("a", ["b__c"])
    assert names.owner("a__b__c") == ("a", "b__c")
    assert names.owner("a__b__c_2") == ("a__b", "c")


def test_a_name_that_is_taken_gets_a_number() -> None:
    """F-MANY-11: in the order of the configuration, then of the tools' own names."""
    assert names_for("tool", ("b", ["x.y", "x y"]), ("a", ["x_y"])) == {
        "b": {"x y": "x_y", "x.y": "x_y_2"},
        "a": {"x_y": "x_y_3"},
    }


def test_a_name_over_the_limit_ends_with_a_digest() -> None:
    """F-MANY-11: which fits together with the number, should there be one."""
    long = "t" * 80
    digest = hashlib.sha256(f"srv\0{long}".encode()).hexdigest()[:8]
    names = names_for("server__tool", ("srv", [long]))["srv"]
    assert names[long] == f"{'srv__' + 't' * 50}_{digest}"
    assert len(names[long]) == 64
    # 64 characters fit, but not with a number.
    exact = "t" * 59
    fitting = names_for("server__tool", ("srv", [exact, "t" * 58 + "."]), ("s.v", []))["srv"]
    assert fitting[exact] == f"srv__{exact}"
    tight = names_for(lambda server, tool: "n" * 64, ("a", ["x"]), ("b", ["x"]))
    assert tight["a"]["x"] == "n" * 64
    assert tight["b"]["x"].endswith("_2") and len(tight["b"]["x"]) == 64


def test_other_limits() -> None:
    """F-MANY-11: Anthropic takes 128."""
    assert len(names_for("tool", ("a", ["t" * 200]), limit=128)["a"]["t" * 200]) == 128
    with pytest.raises(UsageError, match="name_limit is 16 or more, not 8"):
        ToolNames("tool", 8)


def test_a_name_that_was_given_never_changes_its_owner() -> None:
    """F-MANY-11: once the first servers are there; who comes later gets a number."""
    names = ToolNames("tool", 64, ["first", "second"])
    names.assign("second", ["x"])
    names.settle()
    assert names.assign("first", ["x"]) == set()
    assert names.owner("x") == ("second", "x")
    assert names.owner("x_2") == ("first", "x")
    names.assign("second", [])  # its tool has gone, and may come again
    assert names.owner("x") == ("second", "x")


raw_names = ["a", "a_", "a__b", "b", "x.y", "x y", "a_2", "t" * 70]
tools = st.lists(st.sampled_from(raw_names), unique=True)
fleets = st.dictionaries(st.sampled_from(["a", "a_", "a.b", "a__a", "c"]), tools, max_size=5)
styles = st.sampled_from(["server__tool", "server_tool", "tool", "mcp__server__tool"])


@given(fleets, styles, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(
    fleet: dict[str, list[str]], style: str, chance: random.Random
) -> None:
    """F-MANY-11: names are unique, fit, and depend on the configuration alone."""
    outcomes = []
    for _ in range(2):
        names = ToolNames(style, 64, sorted(fleet))  # type: ignore[arg-type]
        arrivals = list(fleet)
        chance.shuffle(arrivals)
        for server in arrivals:
            names.assign(server, fleet[server])
        outcomes.append({server: dict(names.names_of(server)) for server in fleet})
    assert outcomes[0] == outcomes[1]
    given_names = [name for each in outcomes[0].values() for name in each.values()]
    assert len(given_names) == len(set(given_names)) == sum(map(len, fleet.values()))
    assert all(0 < len(name) <= 64 for name in given_names)
    for server, found in outcomes[0].items():
        assert set(found) == set(fleet[server])
        assert all(names.owner(name) == (server, tool) for tool, name in found.items())


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("mcp__github__create-pull-request", ("github", "create-pull-request")),
        ("mcp__github", ("github", None)),
        ("mcp__a__b__c", ("a", "b__c")),
        ("github__search", ("github", "search")),
        ("mcp__", None),
        ("Write", None),
        ("__x", None),
    ],
)
def test_taking_a_name_apart_for_permissions(name: str, parsed: Any) -> None:
    """F-MANY-11, seed 002 (15.6): a rule for ``Write`` never meets a tool of a server."""
    assert parse_tool_name(name) == parsed


@pytest.mark.parametrize(
    ("naming", "begins"),
    [
        ("server__tool", {"my_jira__x": True, "my_jira_x": False, "my_jira2__x": False}),
        ("mcp__server__tool", {"mcp__my_jira__x": True, "my_jira__x": False}),
        ("server_tool", {"my_jira_x": True, "jira_x": False}),
        ("tool", {"x": False, "my_jira__x": False}),
        (lambda server, tool: f"{tool}.of.{server}", {"x_of_my_jira": False}),
    ],
)
def test_how_the_names_of_a_server_begin(naming: Any, begins: dict[str, bool]) -> None:
    """F-MANY-3, F-MANY-11: a guess of whom to ask, where nothing is known yet."""
    names = ToolNames(naming, 64, ["my jira"])
    assert {name: names.begins_as("my jira", name) for name in begins} == begins

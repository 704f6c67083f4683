"""Names across servers: F-MANY-11, seeds 000, 002 (15.5.2) and 004."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import parse_tool_name
from mcpclient.errors import UsageError
from mcpclient.manager.naming import ToolNames
from tests.support.tables import each_row


def names_for(naming: Any, *servers: tuple[str, list[str]], limit: int = 64) -> dict[str, Any]:
    names = ToolNames(naming, limit, [server for server, _ in servers])
    for server, tools in servers:
        names.assign(server, tools)
    return {server: dict(names.names_of(server)) for server, _ in servers}


def test_a_server_may_have_a_way_of_its_own() -> None:
    """F-MANY-15, F-MANY-11: the others keep to the common one; a collision is one all the same."""
    names = ToolNames("server__tool", 64, ["a", "b"])
    names.add_server("b", "tool")
    names.add_server("c", lambda server, tool: f"{tool}_of_{server}")
    for server in ("a", "b", "c"):
        names.assign(server, ["a__x", "x"])
    assert names.names_of("a") == {"a__x": "a__a__x", "x": "a__x"}
    assert names.names_of("b")["x"] == "x"
    for server, taken in (("b", names.names_of("b")), ("c", names.names_of("c"))):  # not a's
        assert names.claimed_by(taken["a__x"]) is None and taken["a__x"].endswith("_a__x"), server
    assert names.names_of("c")["x"] == "x_of_c"
    with pytest.raises(UsageError, match="naming is a function or one of"):
        names.add_server("d", "server-tool")  # type: ignore[arg-type]


def test_characters_that_do_not_fit_become_underscores() -> None:
    """F-MANY-11: and calls reach the server with the original name."""
    names = ToolNames("server__tool", 64)
    names.assign("my.jira cloud", ["get/issue", "größe"])
    assert names.names_of("my.jira cloud") == {
        "get/issue": "my_jira_cloud__get_issue",
        "größe": "my_jira_cloud__gr__e",
    }
    assert names.owner("my_jira_cloud__get_issue") == ("my.jira cloud", "get/issue")


def test_names_are_looked_up_and_never_parsed() -> None:
    """F-MANY-11, F-SAFE-4: ``__`` in the name of a server or a tool misleads no caller."""
    names = ToolNames("server__tool", 64, ["a", "a__b"])
    names.assign("a__b", ["c"])
    names.assign("a", ["b__c"])
    assert names.owner("a_b__c") == ("a__b", "c")
    assert names.owner("a__b__c") == ("a", "b__c")


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
    """F-MANY-11, F-SAFE-4: names are unique, fit, and depend on the configuration alone."""
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
        assert all(names.claimed_by(name) in (server, None) for name in found.values())


@each_row(
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


@pytest.mark.parametrize("naming", ["server__tool", "mcp__server__tool"])
def test_a_name_is_never_taken_apart_as_that_of_another_server(naming: Any) -> None:
    """F-SAFE-4, F-MANY-11: wherever the name of a server or a tool has ``__``."""
    servers = ["github", "github__x", "github_", "github__", "__", "mcp", "mcp__github", "_git"]
    names = ToolNames(naming, 64, servers)
    labels: dict[str, str] = {}
    for server in servers:
        names.assign(server, ["x", "_x", "x__y", "github", "github__x"])
        for name in names.names_of(server).values():
            parsed = parse_tool_name(name)
            assert parsed is not None
            assert labels.setdefault(parsed.server, server) == server, name
    assert labels["github"] == "github"


def test_a_newcomer_takes_no_beginning_that_is_in_use() -> None:
    """F-SAFE-4: a server that is added later is the one that gets another label."""
    names = ToolNames("server_tool", 64, ["a"])
    names.assign("a", ["b_x"])
    names.settle()
    names.assign("a_b", ["x"])
    assert names.owner("a_b_x") == ("a", "b_x")
    (name,) = names.names_of("a_b").values()
    assert name.startswith("a_b_") and name.endswith("_x") and name != "a_b_x"


def test_who_was_first_keeps_its_name_in_the_next_run() -> None:
    """F-SAFE-4: where names do not begin with the server's; in another style nothing is kept."""
    first = ToolNames("tool", 64, ["second"])
    first.assign("second", ["x.y"])
    first.settle()
    first.assign("second", ["x_y"])
    assert first.names_of("second") == {"x.y": "x_y", "x_y": "x_y_2"}
    record = first.to_record("second")
    assert record["names"] == {"x_y": "x_y_2"}
    again = ToolNames("tool", 64, ["new", "second"])
    again.recall("second", record)
    again.reserve()
    again.assign("second", ["x.y", "x_y"])
    again.hold()
    again.assign("new", ["x_y"])
    assert again.names_of("second") == first.names_of("second")
    assert again.owner("x_y_3") == ("new", "x_y")
    other = ToolNames("server__tool", 64, ["second"])
    other.recall("second", {**record, "label": 7, "names": {"x_y": "x y", "z": "github__z"}})
    other.assign("second", ["x_y"])
    assert other.names_of("second") == {"x_y": "second__x_y"}


@each_row("name", ["x y", 7, "", "t" * 65, "a__z"])
def test_a_memory_that_was_tampered_with_gives_no_name(name: Any) -> None:
    """F-SAFE-4: neither one that does not fit nor one that is another server's."""
    names = ToolNames("tool", 64, ["a", "b"])
    names.add_server("a", "server__tool")
    names.recall("b", {**ToolNames("tool", 64, ["b"]).to_record("b"), "names": {"x": name}})
    names.assign("b", ["x"])
    assert names.names_of("b") == {"x": "x"}

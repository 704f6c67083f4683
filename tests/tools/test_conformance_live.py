"""F-CONF-3: this library's results are compared with the reference clients'."""

from __future__ import annotations

from pathlib import Path

from conformance import peers
from conformance.comparing import Allowance, Report, compare, differences
from conformance.live import REFERENCES
from conformance.live_plans import ALLOWANCES, plans
from conformance.results import TRANSPORT_OF
from conformance.summary import REVISIONS
from tests.support.tables import each_row


@each_row(
    ("theirs", "ours", "named"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1, "b": 2}, [".b is new"]),
        ({"a": 1}, {}, [".a is missing"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, [".a[1].b is 3 where the reference got 2"]),
        ([1, 2], [1], [" is [1] where the reference got [1, 2]"]),
        ({"a": None}, {"a": {}}, [".a is {} where the reference got None"]),
        ({"a": True}, {"a": 1}, [".a is 1 where the reference got True"]),
        ({"a": 1}, {"a": 1.0}, []),
    ],
)
def test_differences_are_named_by_their_path(
    theirs: object, ours: object, named: list[str]
) -> None:
    assert list(differences(theirs, ours)) == named


def test_an_answer_that_only_one_of_them_got_is_a_difference() -> None:
    theirs = {"tools": [{"name": "a"}], "calls": [1]}
    compared = compare("a reference", theirs, {"tools": [{"name": "b"}, {"name": "a"}]})
    assert [answer for answer, _ in compared.differences] == ["calls[0]", "tools[b]"]
    assert (compared.checks, compared.held) == (4, 2)


def test_an_allowance_covers_one_reference_and_the_whole_difference() -> None:
    allowed = (Allowance("one", r"server\.\w is missing", "it makes it up"),)
    theirs = {"server": {"a": 1}}
    ours: Report = {"server": {}}
    assert compare("one", theirs, ours, allowed).held == 1
    assert compare("another", theirs, ours, allowed).held == 0
    assert compare("one", {"server": {"ab": 1}}, ours, allowed).held == 0


def test_every_revision_is_met_over_every_transport_it_has(tmp_path: Path) -> None:
    met = {
        (revision, TRANSPORT_OF[peers.SERVERS[plan.server].transport])
        for plan in plans(tmp_path, "http://127.0.0.1/")
        for revision in plan.revisions
    }
    both = {(revision, name) for revision in REVISIONS for name in TRANSPORT_OF.values()}
    # The stateless era is specified for stdio and Streamable HTTP, and the SDKs have no more.
    assert both - met == {("2026-07-28", "legacy SSE"), ("2026-07-28", "WebSocket")}


def test_every_allowance_names_a_reference_and_a_reason() -> None:
    assert all(allowed.reference in REFERENCES and allowed.reason for allowed in ALLOWANCES)

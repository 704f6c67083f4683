"""F-CONF-5: one table of all checks, by revision, transport and part, and of omissions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance import authorized, claims, official, peers, readme, replay, server_suite, summary
from conformance.client_driver import SCENARIOS
from conformance.live_plans import plans
from conformance.results import (
    FAILED,
    LEFT_OUT,
    LEGACY_SSE,
    NOT_RUN,
    PASSED,
    STDIO,
    STREAMABLE_HTTP,
    TRANSPORT_OF,
    WEBSOCKET,
    Row,
)

ROWS = [
    Row("replay", "one", PASSED, "", "2024-11-05", STDIO, 3, 3),
    Row("replay", "two", FAILED, "why", "2024-11-05", STDIO, 4, 1),
    Row("live", "three", PASSED, "", "2024-11-05", LEGACY_SSE, 5, 5),
    Row("official", "four", PASSED, "", "2026-07-28", STDIO, 2, 2, group="set", skipped=1),
    Row("official", "five", FAILED, "", "2026-07-28", STDIO, 4, 1, group="set", warnings=2),
    Row("judged", "ten", PASSED, "", "2026-07-28", STDIO, 7, 7),
    Row("websocket", "six", NOT_RUN, "no network"),
    Row("websocket", "seven", NOT_RUN, "no network"),
    Row("websocket", "eight", LEFT_OUT, "no chromium"),
    Row("websocket", "nine", PASSED, transport=WEBSOCKET, checks=6, held=6),
]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def lines_of(table: str) -> dict[tuple[str, ...], list[str]]:
    """The cells of every line of a table, by revision and transport."""
    _, rule, *lines = map(cells, table.splitlines())
    assert set("".join(rule)) == {"-"}
    return {tuple(line[:2]): line[2:] for line in lines}


def test_the_table_counts_what_held_by_revision_transport_and_part() -> None:
    table = summary.table(ROWS)
    lines = lines_of(table)
    assert cells(table.splitlines()[0])[2:] == [*summary.PARTS, "all"]
    assert lines["2024-11-05", STDIO] == ["4 of 7", *["–"] * 6, "4 of 7"]
    assert lines["2024-11-05", LEGACY_SSE] == ["–", "5 of 5", *["–"] * 5, "5 of 5"]
    assert lines["2026-07-28", STDIO] == [*["–"] * 5, "3 of 6", "7 of 7", "10 of 13"]
    assert lines["any", WEBSOCKET] == ["–", "–", "6 of 6", *["–"] * 4, "6 of 6"]
    assert lines["all", "all"][:3] == ["4 of 7", "5 of 5", "6 of 6"]
    assert lines["all", "all"][3:] == ["–", "–", "3 of 6", "7 of 7", "25 of 31"]


def test_the_tables_go_between_the_markers_of_the_readme_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "README.md"
    monkeypatch.setattr(readme, "README", file)
    monkeypatch.setattr(readme, "counted", lambda: "So many sessions.")
    file.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n", "utf-8")
    readme.write(ROWS)
    text = file.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    _, table, _, groups = readme.section(text).split("\n\n")
    assert (table, groups) == (summary.table(ROWS), summary.groups(ROWS))
    file.write_text("no markers", "utf-8")
    with pytest.raises(ValueError, match="lacks the lines"):
        readme.write(ROWS)


@pytest.mark.slow
def test_the_readme_says_of_the_recorded_sessions_what_the_command_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """F-CONF-1, F-CONF-2: sessions, servers, makers, and where the accepted differences stand."""
    assert claims.main() == 0
    *_, said = capsys.readouterr().out.splitlines()
    heading, *_ = readme.section(readme.README.read_text("utf-8")).split("\n\n")
    assert " ".join(heading.split()).startswith(f"{said} Checks that held, on ")
    for path in re.findall(r"\]\((.+?)\)", said):
        assert (readme.README.parent / path).is_file()


@pytest.mark.slow
def test_the_readme_shows_numbers_where_somebody_is_met_and_nowhere_else(tmp_path: Path) -> None:
    """F-CONF-5: without running anything; and all scenarios of the official suite."""
    _, table, _, sets = readme.section(readme.README.read_text("utf-8")).split("\n\n")
    shown = {
        part: {place for place, line in lines_of(table).items() if line[index] != summary.NOTHING}
        - {("all", "all"), ("any", WEBSOCKET), ("any", STREAMABLE_HTTP)}
        for index, part in enumerate(summary.PARTS)
    }
    headers = [transcript.header for transcript in replay.transcripts().values()]
    assert shown["replay"] >= {
        (header["protocol_version"], TRANSPORT_OF[header["transport"]])
        for header in headers
        if header["protocol_version"] in summary.REVISIONS
    }
    assert shown["live"] == {
        (revision, TRANSPORT_OF[peers.SERVERS[plan.server].transport])
        for plan in plans(tmp_path, "http://127.0.0.1/")
        for revision in plan.revisions
    }
    assert shown["authorized"] == {(each, STREAMABLE_HTTP) for each in authorized.REVISIONS}
    counts = dict(cells(line)[:2] for line in sets.splitlines()[2:])
    bridged = [f"bridged: {leg.name}" for leg in server_suite.LEGS]
    assert list(counts) == [*bridged, *official.MODES]
    assert counts[next(iter(official.MODES))] == str(len(SCENARIOS))


def test_the_readme_shows_a_full_run_in_which_everything_held() -> None:
    _, table, _, sets = readme.section(readme.README.read_text("utf-8")).split("\n\n")
    lines = lines_of(table)
    assert set(lines_of(summary.table([]))) <= set(lines)
    for line in lines.values():
        for cell in line:
            held, _, checks = cell.partition(" of ")
            assert held == checks or cell == summary.NOTHING
    assert summary.NOTHING not in lines["all", "all"]
    head, _, *counted = map(cells, sets.splitlines())
    assert counted
    for line in counted:
        outcome = dict(zip(head, line))
        assert outcome["failed"] == outcome["warnings"] == "0"
        assert outcome["passed"] != "0"


def test_the_checks_in_the_readme_add_up() -> None:
    """By revision and transport, and by part."""
    _, table, *_ = readme.section(readme.README.read_text("utf-8")).split("\n\n")
    rows = {
        place: [int(cell.partition(" of ")[0]) if cell != summary.NOTHING else 0 for cell in line]
        for place, line in lines_of(table).items()
    }
    total = rows.pop(("all", "all"))
    assert total == [sum(column) for column in zip(*rows.values())]
    assert all(sum(parts) == all_of_them for *parts, all_of_them in rows.values())

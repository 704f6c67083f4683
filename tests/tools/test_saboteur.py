"""The saboteur in its small form: its table is true, and what it finds is found for a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.tables import check_each
from tests.tools.saboteur.faults import OTHERS, VISIBLE, Fault
from tests.tools.saboteur.workshop import Copy, Sound, Workshop, edited

FAULTS = [*VISIBLE, *OTHERS]


def test_there_is_a_place_for_each_fault() -> None:
    """Whoever changes that line changes the row, or the fault would never be tried again."""
    check_each(FAULTS, lambda fault: ast.parse(edited(fault)))


def test_there_are_enough_of_both_kinds() -> None:
    """And no two are the same."""
    assert len(VISIBLE) >= 40
    assert len(OTHERS) >= 40
    assert len({(fault.module, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.slow
def test_a_fault_is_noticed_and_its_absence_is_not() -> None:
    """F-CONF-2: by the tests next to it, by the replay of one session, and by nobody when sound."""
    constant = next(fault for fault in OTHERS if fault.breaks == "masks are constant")
    unnamed = next(fault for fault in VISIBLE if fault.breaks == "initialize names no client")
    harmless = Fault("protocol.negotiation", "nothing", "MAX_ROUNDS = 10", "MAX_ROUNDS = 5 + 5")
    with Workshop.opened() as workshop:
        with workshop.holding(constant):
            assert "tests/framing/test_websocket" in str(workshop.unit(constant))
        with workshop.holding(unnamed):
            assert "sdk1-cancel" in str(workshop.replay("stdio/sdk1-cancel"))
        with workshop.holding(harmless):
            assert workshop.replay("stdio/sdk1-cancel") is None


def test_a_test_that_fails_anyway_has_noticed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried on a sound copy, and left out; what fails with the fault only has noticed it."""
    runs: list[tuple[str, ...]] = []

    def tests(copy: Copy, *arguments: str, limit: float | None = 0) -> str | None:
        runs.append((copy.root.name, *arguments))
        is_sound = copy.root.name == "sound"
        if "--deselect=tests/test_a.py::test_red" in arguments:
            return None if is_sound else "FAILED tests/test_b.py::test_good - no\n"
        if arguments == ("tests/test_b.py::test_good",):
            return None
        return "FAILED tests/test_a.py::test_red - always\n"

    monkeypatch.setattr(Copy, "tests", tests)
    sound = Sound(tmp_path / "sound")
    workshop = Workshop(tmp_path / "faulty", sound)
    fault = Fault("protocol.caching", "nothing", "", "")
    assert workshop.unit(fault) == "tests/test_b.py::test_good"
    assert sound.red == ["tests/test_a.py::test_red"]
    assert runs == [
        ("faulty", "tests/protocol/test_caching.py"),
        ("sound", "tests/test_a.py::test_red"),
        ("faulty", "tests/protocol/test_caching.py", "--deselect=tests/test_a.py::test_red"),
        ("sound", "tests/test_b.py::test_good"),
    ]

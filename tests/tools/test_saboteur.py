"""The saboteur in its small form: its table is true, and each finding has its reason."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest

from tests.support.tables import check_each
from tests.tools.mutants.edits import mutants_of, text_with
from tests.tools.saboteur.faults import OTHERS, VISIBLE, Fault
from tests.tools.saboteur.workshop import Workshop, edited, fresh_faults

FAULTS = [*VISIBLE, *OTHERS]


@pytest.mark.slow
def test_there_is_a_place_for_each_fault() -> None:
    """Whoever changes that line changes the row, or the fault would never be tried again."""
    check_each(FAULTS, lambda fault: ast.parse(edited(fault)))


def test_there_are_enough_of_both_kinds() -> None:
    """And no two are the same."""
    assert len(VISIBLE) >= 80
    assert len(OTHERS) >= 160
    assert len({(fault.module, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.slow
def test_fresh_faults_follow_from_their_seed_and_have_a_place() -> None:
    fresh = fresh_faults(3, seed=1)
    assert fresh == fresh_faults(3, seed=1) != fresh_faults(3, seed=2)
    check_each(fresh, lambda fault: ast.parse(edited(fault)))


@pytest.mark.slow
def test_a_fault_is_noticed_and_its_absence_is_not() -> None:
    """F-CONF-2: by the tests next to it, by the replay of one session, and not when sound."""
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


_SHOWN = """
def example(self, data, limit, depth):
    shown = data[:40]
    if not data:
        raise ValueError(f"no such thing: {shown!r}")
    if self._recorder.is_on:
        self.trace(7)
    if len(data) > _MAX_SIZE or len(data) > _MAX_LINES // 2:
        return LookupError("idle")
    count = len(data) - 1
    if self.sent("x") and count == 5:
        _logger.debug("sent %d", count)
    was_known: bool = limit == 0
    self.options.events.close(was_known, "words")
    events.append(7)
    return depth > _MAX_DEPTH or example(self, data, 0, depth + 1)
"""


def test_what_the_program_alone_can_see_is_left_out_of_fresh_faults(tmp_path: Path) -> None:
    """F-CONF-2: words, records, callbacks, and how a limit is reached; nothing that acts."""
    path = tmp_path / "example.py"
    path.write_text(_SHOWN, "utf-8")
    found = mutants_of(path, path.name, Random(1), decides=True)
    left = {mutant.line: text_with(path, mutant) for mutant in found}
    assert sorted(left) == [4, 7, 8, 10, 11, 15, 16]
    assert "len(data) <= _MAX" in left[8] and "depth + 1" in left[16]

"""The saboteur in its small form: its table is true, and each finding has its reason."""

from __future__ import annotations

import ast

import pytest

from tests.support.tables import check_each
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

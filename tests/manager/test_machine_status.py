"""The states of a server: F-MANY-2."""

from __future__ import annotations

import pytest

from mcpclient import Status


@pytest.mark.parametrize("status", Status)
def test_a_status_is_its_text(status: Status) -> None:
    """F-MANY-2: to be shown, compared, and written as JSON."""
    assert str(status) == status.value == status == status.name.lower()


def test_states() -> None:
    """F-MANY-2, seed 004: all that a user may want to tell apart."""
    assert {status.value for status in Status} == {
        *("disabled", "needs_approval", "denied", "connecting", "connected", "reconnecting"),
        *("failed", "needs_auth", "needs_client_registration", "deferred", "closed"),
    }

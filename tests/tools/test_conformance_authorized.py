"""F-CONF-5: logging in to the servers of others, and what of it could not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import authorized, peers
from conformance.auth_scenarios import AUTH_SCENARIOS
from conformance.client_driver import SCENARIOS
from conformance.results import NOT_RUN


def test_what_is_not_installed_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "INSTALLED", tmp_path)
    rows = list(authorized.run())
    eras = len(authorized.REVISIONS)
    assert len(rows) == len(authorized.SERVERS) * len(authorized.WAYS) * eras
    assert {row.outcome for row in rows} == {NOT_RUN}
    assert all("conformance.peers install" in row.detail for row in rows)


def test_the_driver_knows_every_scenario_about_authorization() -> None:
    assert AUTH_SCENARIOS.items() <= SCENARIOS.items()
    assert len(AUTH_SCENARIOS) == 33

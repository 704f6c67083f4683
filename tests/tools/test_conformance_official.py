"""F-CONF-4: this library acts in the official scenarios as the official suite has accepted.

Its own run of them (`conformance.official`) takes Node.js. The servers of its scenarios are played
as they were recorded when every check had passed, by test_replay.py, to the driver that it starts.
"""

from __future__ import annotations

import pytest

from conformance import client_driver, replay
from conformance.capture.official import LEFT_OUT
from conformance.client_driver import SCENARIOS
from conformance.situation import Situation


def test_the_driver_prints_the_revision_that_it_has_spoken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the one that the suite expects; also when the scenario fails then."""

    async def fail(at: Situation) -> None:
        assert (at.url, at.context) == ("http://127.0.0.1:1/mcp", {"a": 1})
        at.revision = "2025-06-18"
        raise KeyError

    monkeypatch.setitem(SCENARIOS, "initialize", fail)
    monkeypatch.setenv("MCP_CONFORMANCE_SCENARIO", "initialize")
    monkeypatch.setenv("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
    monkeypatch.setenv("MCP_CONFORMANCE_CONTEXT", '{"a": 1}')
    monkeypatch.setattr("sys.argv", ["client_driver", "http://127.0.0.1:1/mcp"])
    with pytest.raises(KeyError):
        client_driver.main()
    assert capsys.readouterr().out == "2025-06-18\n"


def test_the_driver_fails_in_a_scenario_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_CONFORMANCE_SCENARIO", "a-new-one")
    with pytest.raises(SystemExit, match="there is no such scenario: a-new-one"):
        client_driver.main()


def test_every_scenario_is_recorded_but_for_those_that_cannot_be() -> None:
    recorded = replay.transcripts(["official/"])
    names = {transcript.header["server"]["name"] for transcript in recorded.values()}
    assert names == SCENARIOS.keys() - LEFT_OUT.keys()
    assert len(names) >= 40

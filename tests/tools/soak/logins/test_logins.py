"""The chaos in small, and planted losses, which it must find."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.soak.watch import Violations

from .__main__ import main
from .chaos import judged
from .journal import Journal

pytestmark = [pytest.mark.needs_posix, pytest.mark.slow]


@pytest.mark.parametrize("tokens", ["lenient", "strict"])
def test_a_few_refreshes_lose_no_login(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """F-AUTH-5, F-AUTH-9: two processes with one store, and everybody is killed now and then."""
    words = ["--refreshes", "60", "--seed", "5", "--users", "4", "--processes", "2"]
    status = main([*words, "--tokens", tokens])
    shown = capsys.readouterr()
    assert (status, shown.err) == (0, "")
    assert "refreshes for 4 users" in shown.out
    assert " 0 logins lost (" in shown.out
    assert shown.out.endswith("no violations\n")


# A planted loss: the answer to the last refresh was never saved.
JOURNAL = """\
locked u1 0 client-1
asked u1 0 client-1
issued u1 1 server
saved u1 1 client-1
unlocked u1 0 client-1
locked u1 0 client-1
used u1 1 server
rotated u1 2 server
used u1 2 server
rotated u1 3 server
"""


def test_a_used_token_in_the_store_is_found(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text(JOURNAL)
    grant = {"tokens": {"refresh_token": "refresh-u1-1"}}
    records = {"grant OAuth http://127.0.0.1:1/u1/json": grant}
    (tmp_path / "credentials.json").write_text(json.dumps(records))
    journal, violations = Journal(tmp_path / "journal", "server"), Violations(7)
    facts = judged(journal.lines(), False, tmp_path, violations)
    journal.close()
    assert facts["lost"] == 1
    assert violations.found == ["the store holds token 1 of u1, (2, 3) count"]

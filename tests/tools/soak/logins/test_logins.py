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


# Planted losses


class Story:
    """A journal that tells what a test wants, and a store that holds what it wants."""

    def __init__(self, folder: Path, *, strict: bool = False) -> None:
        self.folder = folder
        self.violations = Violations(7)
        self._strict = strict
        self._journals: dict[str, Journal] = {}

    def tell(self, writer: str, *words: str) -> None:
        if writer not in self._journals:
            self._journals[writer] = Journal(self.folder / "journal", writer)
        journal = self._journals[writer]
        for each in words:
            verb, user, *number = each.split()
            journal.write(verb, user, int(number[0]) if number else 0)

    def store(self, **numbers: int) -> None:
        records = {
            f"grant OAuth http://127.0.0.1:1/{user}/json": {
                "tokens": {"refresh_token": f"refresh-{user}-{number}"}
            }
            for user, number in numbers.items()
        }
        (self.folder / "credentials.json").write_text(json.dumps(records))

    def judged(self) -> tuple[int, list[str]]:
        lines = next(iter(self._journals.values())).lines()
        for journal in self._journals.values():
            journal.close()
        facts = judged(lines, self._strict, self.folder, self.violations)
        return facts["lost"], self.violations.found


@pytest.fixture
def story(tmp_path: Path) -> Story:
    story = Story(tmp_path)
    story.tell("client-1", "locked u1", "asked u1")
    story.tell("server", "issued u1 1")
    story.tell("client-1", "saved u1 1", "unlocked u1", "locked u1")
    story.tell("server", "used u1 1", "rotated u1 2")
    return story


def test_a_used_token_in_the_store_is_found(story: Story) -> None:
    story.tell("client-2", "locked u1")
    story.tell("server", "used u1 2", "rotated u1 3")
    story.store(u1=1)
    found = ["the store holds token 1 of u1, (2, 3) count"]
    assert story.judged() == (1, found)


def test_two_that_hold_one_lock_are_found(story: Story) -> None:
    story.tell("client-2", "locked u1")
    story.tell("client-1", "saved u1 2", "unlocked u1")
    story.tell("client-2", "unlocked u1", "locked u1", "locked u1")
    story.store(u1=2)
    assert story.judged() == (
        0,
        [
            "client-1 and client-2 hold a lock at once",
            "client-1 and client-2 hold a lock at once",
            "client-2 and None hold a lock at once",
            "two tasks of client-2 hold the lock of u1",
        ],
    )

"""A command takes the words it says it takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pytest

from mcpclient import Client, UsageError
from mcpclient.cli.command import Answer, Command, Work
from mcpclient.cli.screen import Screen


async def work(client: Client, screen: Screen) -> Answer:
    return Answer({}, "")


def prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    return work


PLAIN = Command("plain", prepare)
EXACT = Command("exact", prepare, required=("ONE", "TWO"))
OPEN = Command("open", prepare, required=("ONE",), more="MORE")


@pytest.mark.parametrize(
    ("command", "words"),
    [(PLAIN, []), (EXACT, ["1", "2"]), (OPEN, ["1"]), (OPEN, ["1", "2", "3"])],
)
def test_the_right_words_are_prepared(command: Command, words: list[str]) -> None:
    assert command.work(words, argparse.Namespace()) is work


@pytest.mark.parametrize(
    ("command", "words", "reason"),
    [
        (PLAIN, ["x"], "plain does not take 'x'"),
        (EXACT, [], "exact needs ONE and TWO"),
        (EXACT, ["1"], "exact needs TWO"),
        (EXACT, ["1", "2", "3"], "exact does not take '3'"),
        (OPEN, [], "open needs ONE"),
    ],
)
def test_other_words_are_refused(command: Command, words: list[str], reason: str) -> None:
    """F-SHOW-2: a usage error, before anything is started."""
    with pytest.raises(UsageError, match=reason):
        command.work(words, argparse.Namespace())

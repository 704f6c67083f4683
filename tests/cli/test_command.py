"""A command takes the words it says it takes."""

from __future__ import annotations

import argparse

import pytest

from mcpclient import Client, UsageError
from mcpclient.cli.command import Answer, Command
from mcpclient.cli.screen import Screen


async def run(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    return Answer({}, "")


PLAIN = Command("plain", run)
EXACT = Command("exact", run, required=("ONE", "TWO"))
OPEN = Command("open", run, required=("ONE",), more="MORE")


@pytest.mark.parametrize(
    ("command", "words"),
    [(PLAIN, []), (EXACT, ["1", "2"]), (OPEN, ["1"]), (OPEN, ["1", "2", "3"])],
)
def test_the_right_words_are_read(command: Command, words: list[str]) -> None:
    options = argparse.Namespace(words=words)
    command._replace(read=" ".join).check(options)
    assert (options.words, options.arguments) == (words, " ".join(words[len(command.required) :]))


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
        command.check(argparse.Namespace(words=words))

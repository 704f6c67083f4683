"""A command takes the words it says it takes: F-SHOW-2."""

from __future__ import annotations

import argparse

import pytest

from mcpclient import UsageError
from mcpclient.cli.command import Command

PLAIN = Command("plain", read=" ".join)
EXACT = Command("exact", required=("ONE", "TWO"), read=" ".join)
OPEN = Command("open", required=("ONE",), more="MORE", read=" ".join)


@pytest.mark.parametrize(
    ("command", "words"),
    [(PLAIN, []), (EXACT, ["1", "2"]), (OPEN, ["1"]), (OPEN, ["1", "2", "3"])],
)
def test_the_right_words_are_read(command: Command, words: list[str]) -> None:
    options = argparse.Namespace(words=words)
    command.check(options)
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

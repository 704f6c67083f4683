"""``prompts``: which prompts there are: F-SHOW-1."""

from __future__ import annotations

from tests.cli.in_process import ask


def test_prompts_are_listed_with_their_arguments() -> None:
    answer = ask("prompts")
    assert answer.text.splitlines() == [
        "PROMPT  ARGUMENTS     DESCRIPTION",
        "haiku   topic [mood]  Ask for a haiku",
    ]
    assert answer.raw["prompts"][0]["arguments"][0]["required"] is True


def test_no_prompts() -> None:
    assert ask("prompts", answers={"prompts/list": {"prompts": []}}).text == "no prompts"

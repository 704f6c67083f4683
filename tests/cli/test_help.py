"""``mcpclient help``: F-SHOW-11."""

from __future__ import annotations

import argparse
import asyncio
import io

import pytest

import mcpclient
from mcpclient import UsageError
from mcpclient.cli.command import LocalCommand
from mcpclient.cli.help import CHAPTERS
from mcpclient.cli.main import command_named
from mcpclient.cli.screen import Screen
from tests.cli.in_process import Terminal


def shown(*words: str, out: io.StringIO | None = None) -> str:
    command = command_named("help")
    assert isinstance(command, LocalCommand)
    screen = Screen(out or io.StringIO(), io.StringIO(), {})

    async def answer() -> str:
        return (await command.function(screen, argparse.Namespace(words=list(words)))).text

    return asyncio.run(answer())


def test_without_a_word_it_lists_the_chapters() -> None:
    """F-SHOW-11"""
    assert all(f"  {name} " in shown() for name in CHAPTERS)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_shown_without_its_marks(name: str) -> None:
    """F-SHOW-11"""
    text = shown(name)
    assert text.startswith("# ")
    assert "<!--" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["autentication"], "did you mean 'authentication'"),
        (["servers", "github"], "takes no further word"),
    ],
)
def test_what_is_not_there_is_said(words: list[str], message: str) -> None:
    """F-SHOW-2"""
    with pytest.raises(mcpclient.UsageError, match=message):
        shown(*words)


def test_a_command_is_explained_as_by_itself() -> None:
    """F-SHOW-11: ``help call`` is ``call --help``; a chapter of the same name comes first."""
    assert shown("call").startswith("usage: mcpclient call ")
    assert shown("servers").startswith("# Many servers")
    with pytest.raises(UsageError, match="did you mean 'tools'"):
        shown("tols")


def test_a_terminal_gets_a_layout_of_its_width() -> None:
    """F-SHOW-3, F-SHOW-11: anything else gets the Markdown itself."""
    assert max(map(len, shown("errors", out=Terminal()).splitlines())) < 80
    assert "| code | means |" in shown("errors")

"""A shell on the demo server, in this process, and its output."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcpclient.cli.screen import Screen
from mcpclient.cli.shell.shell import Shell
from mcpclient.client.connection.targets import Target
from mcpclient.manager.manager import Manager
from tests.cli.in_process import ServerInProcess


class Typed:
    """Lines as if a user typed them, or as a script. ``before`` runs before each is read."""

    def __init__(self, lines: Iterable[str], *, is_interactive: bool = False) -> None:
        self.is_interactive = is_interactive
        self.prompts: list[str] = []
        self.interrupted = 0
        self._lines = list(lines)

    async def read(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        return self._lines.pop(0) if self._lines else None

    def interrupt(self) -> None:
        self.interrupted += 1


class World:
    """A shell, and the text on its two streams."""

    def __init__(self, manager: Manager, lines: Typed) -> None:
        self.out, self.errors = io.StringIO(), io.StringIO()
        self.manager = manager
        self.screen = Screen(self.out, self.errors, {})
        self.shell = Shell(manager, self.screen, lines=lines)

    async def run(self, *lines: str) -> list[str]:
        """Return the output of lines that succeed."""
        texts = []
        for line in lines:
            outcome = await self.shell.run_line(line)
            assert outcome.exit_code == 0, f"{line}: {outcome}"
            texts.append(outcome.text)
        return texts

    async def fail(self, line: str) -> tuple[int, str]:
        """Return exit code and text of a line that does not."""
        outcome = await self.shell.run_line(line)
        assert outcome.exit_code != 0, f"{line}: {outcome}"
        return outcome.exit_code, outcome.text


@asynccontextmanager
async def in_shell(
    *,
    answers: Mapping[str, Mapping[str, Any]] | None = None,
    servers: Mapping[str, Target] | None = None,
    lines: Typed | None = None,
) -> AsyncIterator[World]:
    """A shell on the demo server, or on other servers."""
    named = {"demo": ServerInProcess(answers)} if servers is None else servers
    async with Manager(named) as manager:
        yield World(manager, lines or Typed([]))

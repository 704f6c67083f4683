"""stdio: a child process as the server, one JSON message per line.

Source: the stdio pages of all revisions. `net.process` starts and stops the process; here its
output becomes messages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..display import shown_words
from ..errors import ProcessExited
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..net.process.server_process import ServerProcess, spawn
from ..net.process.stderr import StderrTarget
from ..net.process.stopping import StopLadder
from .connected import LineTransport

if TYPE_CHECKING:
    from ..sandbox.denials import Denials
    from ..sandbox.rights import Sandbox


class StdioTransport(LineTransport):
    """Starts ``command`` and talks to it over its standard streams.

    ``env``, ``inherit_env``, ``cwd``, ``stderr``, ``ladder`` and ``sandbox`` are options of
    `net.process.server_process.spawn`. ``known_lines``: lines on stdout that are not messages, and
    of which there has been a warning. ``peer``: what warnings call the server; by default the
    command.
    """

    name = "stdio"

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        inherit_env: str = "safe",
        cwd: str | os.PathLike[str] | None = None,
        stderr: StderrTarget = "inherit",
        ladder: StopLadder | None = None,
        sandbox: Sandbox | None = None,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        known_lines: Sequence[str] = (),
        peer: str = "",
    ) -> None:
        self.command: list[str] = list(command)
        self._name = os.path.basename(shown_words(self.command)[0])
        super().__init__(max_message_size, peer or self._name, known_lines)
        self._env = env
        self._spawn = partial(
            spawn,
            env=env,
            inherit_env=inherit_env,
            cwd=cwd,
            stderr=stderr,
            ladder=ladder or StopLadder(),
            sandbox=sandbox,
        )
        self._process: ServerProcess | None = None

    @property
    def description(self) -> str:
        return self._name

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def stderr_tail(self) -> str:
        return self._process.stderr_tail if self._process is not None else ""

    @property
    def denials(self) -> Denials | None:
        return self._process.denials if self._process is not None else None

    @property
    def has_unread(self) -> bool:
        return self._process is not None and self._process.has_unread

    @property
    def was_forced(self) -> bool:
        """True once the server or one of its processes had to be ended by a signal."""
        return self._process is not None and self._process.was_forced

    @property
    def left_unread(self) -> bool:
        return self._process is not None and self._process.left_unread

    async def _connect(self) -> ServerProcess:
        self._process = await self._spawn(self.command, self)
        return self._process

    async def _disconnect(self) -> None:
        assert self._process is not None
        await self._process.stop()

    # net.process.server_process.ProcessReceiver

    def process_ended(self, error: ProcessExited) -> None:
        self._end_lines()
        if self.skipped:
            from ..recording.secrets import without_values

            output = without_values("\n".join(self.skipped), self._env or {})
            error = ProcessExited(error.command, error.exit_code, error.stderr, output)
        self.connection_lost(error)

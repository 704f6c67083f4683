"""What an inspector has in hand: its servers under watch, its calls, its questions, its board."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import UsageError
from ..net.futures import BackgroundTasks
from .board import Board
from .calls import Calls
from .questions import Questions
from .sources import Source
from .watch import Watch

# Seconds after the last page has gone until nothing is written down any more: a reload is no end.
_STOP_AFTER = 30.0


class Room:
    """Everything the pages of one inspector look at.

    Nothing is written down before the first page looks, unless `observe` is called; and nothing any
    more when the last one has gone for good, unless ``always``.
    """

    def __init__(
        self, source: Source, board: Board, questions: Questions, *, always: bool = False
    ) -> None:
        self.source = source
        self.board = board
        self.questions = questions
        self.calls: Calls = Calls(board)
        self.watches: dict[str, Watch] = {}
        self._always = always
        self._pages = 0
        self._parting: asyncio.TimerHandle | None = None
        self._connecting = BackgroundTasks()

    def watch(self, name: object) -> Watch:
        """Return the watch over one server. Raises `UsageError` for one that there is not."""
        self.observe()
        watch = self.watches.get(name) if isinstance(name, str) else None
        if watch is None:
            raise UsageError(f"there is no server {name!r}")
        return watch

    def observe(self) -> None:
        """Look how it stands with the servers, and show it on the board."""
        states = self.source.states()
        for name, state in states.items():
            watch = self.watches.get(name)
            if watch is None:
                watch = self.watches[name] = Watch()
            watch.follow(state)
            self.board.put("server", name, watch.described())
        for name in [name for name in self.watches if name not in states]:
            self.watches.pop(name).stop()
            self.board.put("server", name, None)

    @contextmanager
    def being_watched(self) -> Iterator[None]:
        """Take note of a page for as long as the block lasts."""
        self._pages += 1
        if self._parting is not None:
            self._parting.cancel()
            self._parting = None
        try:
            yield
        finally:
            self._pages -= 1
            if not self._pages and not self._always:
                loop = asyncio.get_running_loop()
                self._parting = loop.call_later(_STOP_AFTER, self.stop)

    def stop(self) -> None:
        """Write nothing down any more, until somebody looks again."""
        for watch in self.watches.values():
            watch.stop()

    def connect(self, name: str) -> None:
        """Begin to connect a server; how it goes is seen on the board."""
        self._connecting.start(self._connect(name))

    async def _connect(self, name: str) -> None:
        try:
            await self.source.connect(name)
        except UsageError as error:
            self.board.put("notice", name, {"text": str(error)})

    async def close(self) -> None:
        """End everything that was begun here."""
        if self._parting is not None:
            self._parting.cancel()
        self.stop()
        self._connecting.cancel()
        await self._connecting.wait()
        await self.calls.close()
        await self.source.close()

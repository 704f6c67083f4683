"""One meeting: a transcript, a chunking, and this library."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcpclient.recording.transcript import Transcript

from .chunkings import Chunking
from .differences import Known
from .escaped import escaped_here
from .http_peer import HttpPeer
from .names import Names
from .player import Player
from .recorded import elicitations_in, progress_in, revision_offered, without
from .scenario_user import ScenarioUser
from .stdio_peer import StdioPeer
from .user import User
from .websocket_peer import WebSocketPeer

__all__ = ["PART_LIMIT", "Meeting", "Report"]

# Real seconds in which something must happen: a message, a step, an outcome.
PART_LIMIT = 10.0

# In as many looks nothing must have changed: a process that is not run for long has not stalled.
_QUIET_INTERVALS = 10


@dataclass
class Report:
    """The outcome of a meeting: the number of checks, and the deviations.

    ``accepted``: how often each known difference was met, by its name. ``sent``: the messages of
    this library.
    """

    checks: int
    accepted: Mapping[str, int]
    findings: list[str]
    sent: list[Any]


class Meeting:
    """Plays one transcript to the library, which does what its script says."""

    def __init__(
        self,
        transcript: Transcript,
        chunking: Chunking,
        known: Known,
        limit: float,
    ) -> None:
        self._header = transcript.header
        self._transcript = transcript
        self._limit = limit
        self._known = known
        self.player = Player(transcript, chunking, Names(), known)
        self._doing = ""
        self._failures: list[str] = []
        # A program that does not say whom it has connected to does not report every step, either.
        self._outcomes = {one["step"] for one in transcript.records if "outcome" in one}
        self._says_connected = any("connected" in one for one in transcript.records)
        self._may_ask = elicitations_in(transcript)
        self._progress = progress_in(transcript)
        self._user = self._played_user()

    def _played_user(self) -> User | ScenarioUser:
        script = self._header["script"]
        if [step["do"] for step in script["steps"]] == ["scenario"]:
            return ScenarioUser(script["steps"][0], self)
        return User(script, revision_offered(self._transcript), self._may_ask, self)

    async def run(self) -> Report:
        """Meet, and return the report."""
        escaped = escaped_here()
        peer = self._peer()
        playing: asyncio.Task[None] | None = None
        try:
            target = await peer.start()
            playing = asyncio.get_running_loop().create_task(self.player.play())
            if await self._connects(target):
                await self._part("the script", self._user.run())
                self._doing = ""
            else:
                self.player.give_up()
            await self._part("what comes before closing", self.player.finished_script())
            await peer.left_as_told()
            await self._part("closing", self._user.close())
            self.player.told("closed")
            await self._part("the client's connections", peer.until_left())
        except _Stalled:
            pass
        finally:
            await self._user.close()
            if playing is not None:
                await _cancelled(playing)
            await peer.close()
        return self._report(playing, escaped)

    def _peer(self) -> StdioPeer | HttpPeer:
        transport = self._header["transport"]
        if transport == "stdio":
            return StdioPeer(self.player)
        kind = WebSocketPeer if transport == "ws" else HttpPeer
        return kind(self.player, self._header["target"])

    async def _part(self, name: str, work: Awaitable[Any]) -> Any:
        """Await one part of the meeting, unless nothing happens in it for too long."""
        task = asyncio.ensure_future(work)
        quiet, before = 0, self.player.happened
        while not task.done() and quiet < _QUIET_INTERVALS:
            await asyncio.wait({task}, timeout=self._limit / _QUIET_INTERVALS)
            quiet = quiet + 1 if self.player.happened == before else 0
            before = self.player.happened
        if not task.done():
            await _cancelled(task)
            waits_for = self.player.waits_for()
            name = self._doing or name
            self.player.found(f"{name} stalled for {self._limit} s: {waits_for}")
            raise _Stalled
        return task.result()

    async def _connects(self, target: Any) -> bool:
        info, transport = self._header["client"].get("info"), self._header["transport"]
        connecting = self._user.connect(target, transport, info)
        connected = await self._part("connecting", connecting)
        if connected is None:
            return True
        has_failed = "failed" in connected or "error" in connected
        if self._says_connected:
            self._compare("connecting", self.player.told("connected"), "connected", connected)
        else:
            self.player.check(not has_failed, f"connecting: {connected}")
        return not has_failed

    # user.Watcher

    async def visit(self, url: str) -> str | None:
        note = self.player.told("visited")
        if note is None:
            self.player.check(False, f"never recorded: a visit to {url.partition('?')[0]}")
            return None
        comparison = self.player.comparison().url(note["visited"]["url"], url)
        self.player.compare("the visit", comparison)
        return self.played(note["visited"]["location"])

    def played(self, text: str) -> str:
        return self.player.names.played(text)

    async def begins(self, number: int, do: str) -> None:
        self._doing = f"what comes before step {number} ({do})"
        note = self.player.told("begins", step=number)
        if note is not None:
            await self.player.reached(note)
        if do == "connect_again":
            self.player.forget_ids()
        self._doing = f"step {number} ({do})"

    def ends(self, number: int, outcome: dict[str, Any]) -> None:
        note = self.player.told("outcome", step=number)
        if note is not None and self._has_all_progress(outcome, note["outcome"]):
            ours, theirs = outcome["progress"], note["outcome"].get("progress", [])
            self.player.found(
                f"step {number}: all progress came, {len(ours)}, recorded were {len(theirs)}"
            )
            outcome = {**outcome, "progress": theirs} if theirs else without(outcome, "progress")
        if self._says_connected or number in self._outcomes:
            self._compare(f"step {number}", note, "outcome", outcome)

    def _has_all_progress(self, ours: dict[str, Any], recorded: dict[str, Any]) -> bool:
        """Whether the user got all that was sent, and the reference client's the first of it."""
        got, theirs = ours.get("progress", []), recorded.get("progress", [])
        return got in self._progress and got != theirs and got[: len(theirs)] == theirs

    def _compare(self, what: str, note: Any, member: str, ours: Any) -> None:
        player = self.player
        if note is None:
            player.check(False, f"{what} has no outcome in the transcript, ours is {ours}")
            return
        if ours.get("failed", "") not in ("", note[member].get("failed")):
            self._failures.append(f"{what} failed: {ours['detail']}")
        player.compare(what, player.comparison().outcome(note[member], ours))

    def _report(self, playing: asyncio.Task[None] | None, escaped: Iterable[str]) -> Report:
        player = self.player
        recorded = [
            record["notification"]
            for record in self._transcript.records
            if "notification" in record
        ]
        if self._user.questions > self._may_ask:
            player.found("the user was asked once more than recorded: elicitation")
        notifications = player.comparison().notifications(recorded, self._user.notifications)
        player.compare("notifications", notifications)
        player.finish()
        if playing is not None and not playing.cancelled() and playing.exception() is not None:
            player.findings.append(f"the player failed: {playing.exception()!r}")
        player.findings.extend(escaped)
        if player.findings:  # they may be why
            player.findings[:0] = self._failures
        return Report(player.checks, self._known.met, player.findings, player.sent)


class _Stalled(Exception):
    """A part of a meeting did not end."""


async def _cancelled(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

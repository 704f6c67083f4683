"""F-SHOW-8: the transcripts of the conformance suite, which other clients made, can be replayed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mcpclient.errors import HttpError
from mcpclient.protocol.listen import SUBSCRIPTION_ID
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.recording.conversation import Call
from mcpclient.transports.replaying import Recording
from tests.support import virtual_time
from tests.support.subprocesses import TOP
from tests.support.tables import check_each
from tests.transports.receivers import RecordingReceiver

pytestmark = pytest.mark.virtual_time

TRANSCRIPTS = TOP / "conformance" / "transcripts"
OPENING = ("initialize", "server/discover")


class Replayed:
    """Sends a recording its own requests, with other ids."""

    def __init__(self, path: Path) -> None:
        self.recording = Recording(path)
        self.heard = RecordingReceiver()
        self._answered = 0

    def send(self, message: dict[str, Any]) -> None:
        self.recording.send(Outgoing({"jsonrpc": "2.0", **message}))

    async def ask(self, call: Call, id: str) -> None:
        """Send a request, and answer the server's own meanwhile."""
        self.send({**call.request, "id": id})
        for _ in range(8):  # every round of server and client takes two turns of the loop
            await asyncio.sleep(0)
            for message in self.heard.messages[self._answered :]:
                self._answered += 1
                if "method" in message and "id" in message:
                    self.send({"id": message["id"], "result": {}})
        if call.request["method"] == "initialize":
            self.send({"method": "notifications/initialized"})

    def check(self, call: Call, id: str) -> None:
        answers = [message for message in self.heard.messages if message.get("id") == id]
        if call.answer is not None:
            expected = {**call.answer, "id": id}
            assert _without_subscription(answers) == _without_subscription([expected])
        elif call.ended_at is None:
            assert answers == []
        else:
            assert id in {failed for failed, _ in self.heard.failed} or self.heard.lost


def _without_subscription(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for message in messages:
        message.get("result", {}).get("_meta", {}).pop(SUBSCRIPTION_ID, None)
    return messages


@pytest.mark.slow
def test_every_request_gets_what_it_got() -> None:
    """F-SHOW-8: a client that refused to connect has sent nothing."""
    paths = sorted(TRANSCRIPTS.glob("*/*.jsonl"))
    assert len(paths) > 300
    paths = [path for path in paths if "answers-with-no-message" not in path.stem]
    check_each(paths, lambda path: virtual_time.run(gets_what_it_got(path)))


async def gets_what_it_got(path: Path) -> None:
    was_refused = '"connected": {"failed"' in path.read_text("utf-8")
    replayed = Replayed(path)
    calls = replayed.recording.conversation.calls
    if was_refused and not calls:  # the opening of the transport may have been refused
        with suppress(HttpError):
            await replayed.recording.open(replayed.heard)
        return
    await replayed.recording.open(replayed.heard)
    assert calls
    for number, call in enumerate(calls):
        await replayed.ask(call, f"new-{number}")
        if call.request["method"] not in OPENING:
            replayed.check(call, f"new-{number}")
    await replayed.recording.close()

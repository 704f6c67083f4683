"""A recorded session that is completed by the server it was recorded with."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

from ..client.client import Client
from ..errors import McpError, NotRecorded, PeerError
from ..jsonrpc import messages
from ..jsonrpc.messages import Message, RequestId
from ..protocol.outgoing import Outgoing
from ..protocol.types import Progress
from ..transports.base import Abandoned, Receiver, Transport
from ..transports.replaying import Recording

# What each client puts into ``_meta`` by itself.
_OF_THE_CLIENT = ("progressToken", "io.modelcontextprotocol/")


class Completing(Transport):
    """A `Recording`; a request that is not in it is asked of the server, by another client.

    ``make_client``: returns that client, which is connected when it is first needed.
    """

    name = "replay"

    def __init__(self, recording: Recording, make_client: Callable[[], Client]) -> None:
        self._recording = recording
        self._make_client = make_client
        self._client: Client | None = None
        self._receiver: Receiver | None = None
        self._asking: dict[RequestId, asyncio.Task[None]] = {}

    @property
    def description(self) -> str:
        """The path of the file."""
        return self._recording.description

    async def open(self, receiver: Receiver) -> None:
        """Begin the replay."""
        self._receiver = receiver
        await self._recording.open(receiver)

    def send(self, outgoing: Outgoing) -> None:
        """Play what was recorded for a message, or ask the server."""
        try:
            self._recording.send(outgoing)
        except NotRecorded:
            task = asyncio.ensure_future(self._ask(outgoing.message))
            request_id = outgoing.message["id"]
            self._asking[request_id] = task
            task.add_done_callback(lambda _: self._asking.pop(request_id, None))

    async def _ask(self, request: Message) -> None:
        receiver, request_id = self._receiver, request["id"]
        assert receiver is not None, "it is open"
        try:
            answer = await self._answer(request)
        except McpError as error:
            receiver.request_failed(request_id, error)
        else:
            receiver.message_received(answer)

    async def _answer(self, request: Message) -> Message:
        if self._client is None:
            self._client = self._make_client()
        await self._client.connect()
        params = dict(request.get("params") or {})
        meta = params.pop("_meta", {})
        try:
            result = await self._client.request(
                request["method"],
                params or None,
                timeout=None,  # whoever waits has limits, and abandons the request
                max_timeout=None,
                on_progress=self._passing_on(meta.get("progressToken")),
                meta={
                    name: value
                    for name, value in meta.items()
                    if not name.startswith(_OF_THE_CLIENT)
                },
            )
        except PeerError as error:
            return messages.error_response(request["id"], error.code, error.message, error.data)
        return messages.response(request["id"], result)

    def _passing_on(self, token: Any) -> Callable[[Progress], None] | None:
        if token is None:
            return None

        def pass_on(progress: Progress) -> None:
            params = {**progress.raw, "progressToken": token}
            if self._receiver is not None:
                message = messages.notification("notifications/progress", params)
                self._receiver.message_received(message)

        return pass_on

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Ask no more, or play no more, for a request."""
        task = self._asking.pop(outgoing.request_id or "", None)
        if task is None:
            return self._recording.abandon(outgoing)
        task.cancel()
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        """Stop, and close the client of the server."""
        for task in self._asking.values():
            task.cancel()
        self._asking.clear()
        await self._recording.close()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

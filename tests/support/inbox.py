"""A `Receiver` that keeps delivered messages, for tests to wait for and look at."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

from mcpclient.errors import McpError, ProtocolViolation
from mcpclient.jsonrpc.messages import Message, RequestId


class Inbox:
    """Everything delivered, in order of arrival, by kind."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rejected: list[tuple[ProtocolViolation, RequestId | None]] = []
        self.failures: list[tuple[RequestId | None, McpError]] = []
        self.deaf: list[McpError] = []
        self.lost: list[McpError] = []
        self._news: asyncio.Future[None] | None = None

    def _arrived(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # transports.base.Receiver

    def message_received(self, message: Message) -> None:
        self.messages.append(message)
        self._arrived()

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        self.rejected.append((error, request_id))
        self._arrived()

    def output_skipped(self, data: bytes) -> None:
        """Whatever is skipped is rejected, or of no interest here."""

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        self.failures.append((request_id, error))
        self._arrived()

    def channel_lost(self, error: McpError) -> None:
        self.deaf.append(error)
        self._arrived()

    def connection_lost(self, error: McpError) -> None:
        self.lost.append(error)
        self._arrived()

    # For tests

    async def until(self, condition: Callable[[], Any], seconds: float = 60.0) -> None:
        """Wait until the condition holds; it is looked at whenever something arrives."""

        async def wait() -> None:
            while not condition():
                self._news = asyncio.get_running_loop().create_future()
                await self._news

        try:
            await asyncio.wait_for(wait(), seconds)
        except asyncio.TimeoutError:
            raise AssertionError(f"it did not come to that; there is {self!r}") from None

    async def answer_to(self, request_id: RequestId) -> Message:
        """Wait for the response to a request, or raise the error it failed with."""
        await self.until(lambda: self._outcomes(request_id) or self.lost)
        outcomes = self._outcomes(request_id)
        if not outcomes:
            raise self.lost[0]
        if isinstance(outcomes[0], McpError):
            raise outcomes[0]
        assert len(outcomes) == 1, f"more than an answer to {request_id}: {outcomes}"
        return outcomes[0]

    async def text_of(self, request_id: RequestId) -> str:
        """Wait for the result of a tool call, and return its text."""
        text = (await self.answer_to(request_id))["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text

    def _outcomes(self, request_id: RequestId) -> list[Message | McpError]:
        found: list[Message | McpError] = []
        for message in self.messages:
            if message.get("id") == request_id and "method" not in message:
                found.append(message)
        found += [error for error, rejected in self.rejected if rejected == request_id]
        found += [error for failed, error in self.failures if failed == request_id]
        return found

    def notifications(self) -> list[str]:
        """The methods of the notifications and requests that came."""
        return [message["method"] for message in self.messages if "method" in message]

    def __repr__(self) -> str:
        return f"<Inbox {vars(self)}>"

"""Making a call succeed where one request is not enough.

Four things may come between a call and its result, each answered only as often as is safe: the
server asks for input (stateless era), the session has expired, the tool's headers have changed, the
server is busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ..errors import HttpError, PeerError, ProtocolViolation, SessionExpired
from ..jsonrpc.messages import ErrorCode
from ..net.clock import retry_after_seconds
from ..protocol.mrtr import MAX_ROUNDS, input_requests_of, retry_params
from .connection import Connection
from .session import CallOptions

__all__ = ["Caller"]

# What a busy server is given when it does not say how long it wants to be left alone.
_DEFAULT_RETRY_AFTER = 1.0


class Caller:
    """Makes calls over a connection. ``refresh_tools`` lists the tools anew."""

    def __init__(
        self, connection: Connection, refresh_tools: Callable[[], Awaitable[object]]
    ) -> None:
        self._connection = connection
        self._refresh_tools = refresh_tools

    async def call(
        self, method: str, params: Mapping[str, Any] | None, options: CallOptions
    ) -> dict[str, Any]:
        """Return the complete result of a request.

        Raises what `Session.request` does, and `ProtocolViolation` for a result of unknown type
        and for a server that never stops asking for input.
        """
        result = await self._request(method, params, options)
        if "resultType" not in result:
            return result
        asked = input_requests_of(method, result)
        rounds = 0
        while asked is not None:
            rounds += 1
            if rounds > MAX_ROUNDS:
                raise ProtocolViolation(f"{method}: the server asked for input {rounds} times")
            responses = await self._answers(asked)
            result = await self._request(
                method, retry_params(params or {}, result, responses), options
            )
            asked = input_requests_of(method, result)
        return result

    async def _answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Let the handlers answer, side by side."""
        names = list(requests)
        answers = await asyncio.gather(*(self._answer(requests[name]) for name in names))
        return dict(zip(names, answers))

    async def _answer(self, request: Any) -> Mapping[str, Any]:
        method = request.get("method") if isinstance(request, dict) else None
        if not isinstance(method, str):
            raise ProtocolViolation("the server asked for input with something that is no request")
        params = request.get("params")
        handlers = self._connection.options.handlers
        return await handlers.answer(method, params if isinstance(params, dict) else {})

    async def _request(
        self, method: str, params: Mapping[str, Any] | None, options: CallOptions
    ) -> dict[str, Any]:
        connection = self._connection
        generation = connection.generation
        try:
            return await connection.session.request(method, params, options)
        except SessionExpired:
            await connection.renew(generation)
        except PeerError as error:
            if error.code != ErrorCode.HEADER_MISMATCH or method != "tools/call":
                raise
            await self._refresh_tools()
        except HttpError as error:
            if error.status not in (429, 503) or not connection.options.retry_busy:
                raise
            return await self._request_when_ready(method, params, options, error)
        return await connection.session.request(method, params, options)

    async def _request_when_ready(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: CallOptions,
        busy: HttpError,
    ) -> dict[str, Any]:
        """Repeat a request the server refused to take, as long as its deadline allows."""
        loop = asyncio.get_running_loop()
        limits = [limit for limit in (options.timeout, options.max_timeout) if limit]
        deadline = loop.time() + min(limits) if limits else None
        while True:
            delay = retry_after_seconds(busy.headers.get("retry-after", ""), _DEFAULT_RETRY_AFTER)
            if deadline is not None and loop.time() + delay > deadline:
                raise busy
            await asyncio.sleep(delay)
            try:
                return await self._connection.session.request(method, params, options)
            except HttpError as error:
                if error.status not in (429, 503):
                    raise
                busy = error

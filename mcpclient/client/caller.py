"""Making a call succeed where one request is not enough.

Five things may come between a call and its result, each answered only as often as is safe: the
server asks for input (stateless era) or for a visit to a URL (2025-11-25), the session has expired,
the tool's headers have changed, the server is busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ..errors import (
    HttpError,
    PeerError,
    ProtocolViolation,
    SessionExpired,
    UrlElicitationRequired,
)
from ..jsonrpc.messages import ErrorCode
from ..net.clock import retry_after_seconds
from ..protocol.mrtr import (
    INPUT_METHODS,
    MAX_ROUNDS,
    input_requests_of,
    pause_before_retry,
    retry_params,
)
from .connection import Connection
from .response_cache import ClientCache
from .session import CallOptions

__all__ = ["Caller"]

# What a busy server is given when it does not say how long it wants to be left alone.
_DEFAULT_RETRY_AFTER = 1.0


class Caller:
    """Makes calls over a connection. ``refresh_tools`` lists the tools anew.

    ``cache`` answers in the server's stead where it may; None: never.
    """

    def __init__(
        self,
        connection: Connection,
        refresh_tools: Callable[[], Awaitable[object]],
        cache: ClientCache | None,
    ) -> None:
        self._connection = connection
        self._takes_tasks = connection.options.tasks
        self._cache = cache
        self._refresh_tools = refresh_tools

    async def call(
        self, method: str, params: Mapping[str, Any] | None, options: CallOptions
    ) -> dict[str, Any]:
        """Return the complete result of a request; a task counts as one where tasks are taken part
        in.

        Raises what `Session.request` does, and `ProtocolViolation` for a result of unknown type
        and for a server that never stops asking for input.
        """
        visit = self._cache.visit(method, params, options) if self._cache is not None else None
        if visit is not None and visit.result is not None:
            return visit.result
        try:
            result = await self._request(method, params, options)
        except PeerError as error:
            if self._cache is not None:
                self._cache.refused(method, params, error)
            raise
        asked = self._asked(method, result)
        if asked is not None:
            return await self._in_rounds(method, params, options, result, asked)
        if visit is not None:
            visit.keep(result)
        return result

    def _asked(self, method: str, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the requests for input that a result consists of, None when it is complete."""
        if "resultType" not in result:
            return None
        if result["resultType"] == "task" and method == "tools/call" and self._takes_tasks:
            return None
        return input_requests_of(method, result)

    async def _in_rounds(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: CallOptions,
        result: Mapping[str, Any],
        asked: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Give the server what it asks for until it gives a result, which is nobody else's.

        Each round has the limits of the call to itself; a handler may take its time between them.
        """
        rounds = 0
        while asked is not None:
            rounds += 1
            if rounds > MAX_ROUNDS:
                raise ProtocolViolation(f"{method}: the server asked for input {rounds} times")
            if asked:
                responses = await self.answers(asked)
            else:
                responses = {}
                await asyncio.sleep(pause_before_retry(rounds))
            result = await self._request(
                method, retry_params(params or {}, result, responses), options
            )
            asked = self._asked(method, result)
        return dict(result)

    async def answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Let the handlers answer the server's requests for input, side by side.

        When one of them fails, the others are cancelled: no answer would be sent any more.
        """
        answering = [asyncio.ensure_future(self._answer(each)) for each in requests.values()]
        try:
            answers = await asyncio.gather(*answering)
        finally:
            for task in answering:
                task.cancel()
            if answering:
                await asyncio.wait(answering)
        return dict(zip(requests, answers))

    async def _answer(self, request: Any) -> Mapping[str, Any]:
        method = request.get("method") if isinstance(request, dict) else None
        if method not in INPUT_METHODS:
            raise ProtocolViolation("the server asked for input with what is no request for it")
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
        except UrlElicitationRequired as error:
            # The server has not begun with the call, so it is made again after the visit.
            if not await connection.options.handlers.visit(error.elicitations):
                raise
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

"""The acts of a soak's server for a call. It imports nothing of the library.

There is one tool, ``soak``. Its arguments are ``token``, which the answer repeats; ``act``, one of
`ACTS`; and what the act needs: ``seconds``, ``count``, ``size``. Before an act that counts as
execution, the token goes into the ledger, a file that survives the server.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping
from typing import Any, Callable, Protocol

from tests.support.mcp_server import Json, OpenedServer

__all__ = ["ACTS", "Exchange", "Json", "SoakServer"]

_META = "io.modelcontextprotocol/"
_TOOL = {
    "name": "soak",
    "inputSchema": {"type": "object"},
    "execution": {"taskSupport": "optional"},
}
_FORM = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {}}}


class Exchange(Protocol):
    """The target of the answer to one request, and its faults."""

    def send(self, message: Json) -> None:
        """Send a message that belongs to the request."""

    def answer(self, message: Json) -> None:
        """Send the answer."""

    def garbage(self) -> None:
        """Send an invalid message, as the transport frames it."""

    def half(self, message: Json) -> None:
        """Send half of the answer and drop the connection."""

    def drop(self) -> None:
        """Drop the connection."""

    def refuse(self) -> bool:
        """Refuse the request as busy, where the transport can."""

    def postpone(self, message: Json) -> bool:
        """Break the connection, and give the answer to who resumes it, where that exists."""


class SoakServer:
    """Speaks both eras. One object serves all connections of a server process.

    Each request is a task, which the client may cancel.
    """

    def __init__(self, ledger: str) -> None:
        self.sessions: set[str] = set()
        self._ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._asked: dict[Any, asyncio.Future[None]] = {}
        self._tasks: dict[str, Json] = {}
        self._serial = 0
        self._opened = OpenedServer(
            "both",
            capabilities={
                "tools": {"listChanged": True},
                "logging": {},
                "tasks": {"requests": {"tools": {"call": {}}}},
                "extensions": {_META + "tasks": {}},
            },
            answers={"tools/list": {"tools": [_TOOL]}, "ping": {}},
        )

    async def receive(self, message: Json, exchange: Exchange) -> None:
        """Receive one message; an answer goes to ``exchange``."""
        method = message.get("method")
        if method is None:
            asked = self._asked.pop(message.get("id"), None)
            if asked is not None and not asked.done():
                asked.set_result(None)
        elif "id" in message:
            await self._take_request(method, message, exchange)

    async def _take_request(self, method: str, message: Json, exchange: Exchange) -> None:
        params = message.get("params") or {}
        is_stateless = _META + "protocolVersion" in params.get("_meta", {})
        if method == "tools/call":
            await _Call(self, message, exchange, is_stateless).run()
        elif method == "subscriptions/listen":
            await self._listen(message, exchange)
        elif method in ("tasks/get", "tasks/result"):
            exchange.answer(self._tell_of_task(method, message, is_stateless))
        else:
            self._opened.take_request(message, exchange.answer)

    async def _listen(self, message: Json, exchange: Exchange) -> None:
        about = {_META + "subscriptionId": message["id"]}
        granted = {"_meta": about, "notifications": message["params"]["notifications"]}
        exchange.send(_notification("notifications/subscriptions/acknowledged", granted))
        while True:
            exchange.send(_notification("notifications/tools/list_changed", {"_meta": about}))
            await asyncio.sleep(0.05)

    def make_task(self, name: str, result: Json) -> Json:
        """Keep the result of a call, and return the task that the call has become."""
        self._tasks[name] = result
        return _state_of_task(name, "working")

    def _tell_of_task(self, method: str, message: Json, is_stateless: bool) -> Json:
        name = message["params"]["taskId"]
        result = self._tasks.get(name)
        if result is None:  # of a server that was killed
            return _error(message, -32602, "Unknown task")
        if method == "tasks/result":
            return _result(message, result)
        more: Json = {"resultType": "complete", "result": result} if is_stateless else {}
        return _result(message, {**_state_of_task(name, "completed"), **more})

    def execute(self, token: str) -> None:
        """Note that a call has been executed; one write, whole even when the server is killed."""
        os.write(self._ledger, f"{token}\n".encode())

    async def ask(self, method: str, params: Json, exchange: Exchange) -> None:
        """Ask the client (handshake era), and wait for its answer."""
        self._serial += 1
        self._asked[self._serial] = answered = asyncio.get_running_loop().create_future()
        request = {"jsonrpc": "2.0", "id": self._serial, "method": method, "params": params}
        exchange.send(request)
        try:
            await answered
        finally:
            self._asked.pop(self._serial, None)


def _state_of_task(name: str, status: str) -> Json:
    """A task in both designs."""
    lifetimes = {"ttl": 60_000, "pollInterval": 1, "ttlMs": 60_000, "pollIntervalMs": 1}
    return {"taskId": name, "status": status, **lifetimes}


class _Call:
    """One call of the tool."""

    def __init__(
        self, server: SoakServer, message: Json, exchange: Exchange, is_stateless: bool
    ) -> None:
        self.server = server
        self.message = message
        self.exchange = exchange
        self.is_stateless = is_stateless
        self.params: Json = message["params"]
        self.arguments: Json = self.params["arguments"]
        self.token: str = self.arguments["token"]

    async def run(self) -> None:
        """Execute the call."""
        await ACTS[self.arguments["act"]](self)

    def execute(self) -> None:
        self.server.execute(self.token)

    def result(self, text: str = "", **more: Any) -> Json:
        content = [{"type": "text", "text": self.token + text}]
        return _result(self.message, {"content": content, **more})

    def answer(self, text: str = "") -> None:
        self.exchange.answer(self.result(text))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.exchange.send(_notification(method, params))


async def _echo(call: _Call) -> None:
    call.execute()
    call.answer()


async def _delay(call: _Call) -> None:
    call.execute()
    await asyncio.sleep(call.arguments["seconds"])
    call.answer()


async def _big(call: _Call) -> None:
    call.execute()
    call.answer(":" + "x" * call.arguments["size"])


async def _progress(call: _Call) -> None:
    call.execute()
    token = call.params["_meta"].get("progressToken")
    for step in range(call.arguments["count"]):
        if token is not None:
            call.notify("notifications/progress", {"progressToken": token, "progress": step})
        await asyncio.sleep(0.002)
    call.answer()


async def _notify(call: _Call) -> None:
    call.execute()
    for number in range(call.arguments["count"]):
        call.notify("notifications/message", {"level": "debug", "data": number})
    if not call.is_stateless:
        call.notify("notifications/tools/list_changed", {})
    call.answer()


async def _ask(call: _Call) -> None:
    asked = call.arguments["asks"]
    params = _FORM if asked == "elicitation/create" else {}
    if not call.is_stateless:
        call.execute()
        await call.server.ask(asked, params, call.exchange)
    elif "inputResponses" not in call.params:
        requests = {"one": {"method": asked, "params": params}}
        wanted = {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
        call.exchange.answer(_result(call.message, wanted))
        return
    else:
        call.execute()
    call.answer()


async def _task(call: _Call) -> None:
    """Answer with a task where the call asks for one, or its client knows them."""
    call.execute()
    result = call.result()["result"]
    meta = call.params.get("_meta", {})
    declared = meta.get(_META + "clientCapabilities", {}).get("extensions", {})
    if "task" in call.params:
        task = call.server.make_task(call.token, result)
        call.exchange.answer(_result(call.message, {"task": task}))
    elif call.is_stateless and _META + "tasks" in declared:
        task = call.server.make_task(call.token, {**result, "resultType": "complete"})
        call.exchange.answer(_result(call.message, {"resultType": "task", **task}))
    else:
        call.answer()


async def _fail(call: _Call) -> None:
    call.execute()
    call.exchange.answer(call.result(isError=True))


async def _error_answer(call: _Call) -> None:
    call.execute()
    call.exchange.answer(_error(call.message, -32000, call.token))


async def _block(call: _Call) -> None:
    call.execute()
    time.sleep(call.arguments["seconds"])  # noqa: ASYNC251 - nothing is read meanwhile
    call.answer()


async def _garbage(call: _Call) -> None:
    call.execute()
    call.exchange.garbage()
    call.answer()


async def _twice(call: _Call) -> None:
    call.execute()
    call.exchange.send(_result({"id": 10**9}, {"content": []}))
    call.exchange.send(call.result())
    call.answer()


async def _resume(call: _Call) -> None:
    call.execute()
    if call.is_stateless or not call.exchange.postpone(call.result()):
        call.answer()


async def _forget(call: _Call) -> None:
    call.execute()
    call.server.sessions.clear()
    call.answer()


async def _then_drop(call: _Call) -> None:
    call.execute()
    call.answer()
    await asyncio.sleep(call.arguments["seconds"])
    call.exchange.drop()


async def _never(call: _Call) -> None:
    call.execute()
    await asyncio.Event().wait()


async def _hang(call: _Call) -> None:
    call.execute()
    time.sleep(3600)  # noqa: ASYNC251


async def _die(call: _Call) -> None:
    os._exit(3)


async def _die_after(call: _Call) -> None:
    call.execute()
    os._exit(3)


async def _drop(call: _Call) -> None:
    call.exchange.drop()


async def _drop_after(call: _Call) -> None:
    call.execute()
    call.exchange.drop()


async def _half(call: _Call) -> None:
    call.execute()
    call.exchange.half(call.result(":" + "x" * 1000))


async def _busy(call: _Call) -> None:
    if not call.exchange.refuse():
        call.exchange.answer(_error(call.message, -32000, call.token))


async def _repeat(call: _Call) -> None:
    """Count the call twice: what a server would see of a client that repeats calls."""
    call.execute()
    await _echo(call)


ACTS: Mapping[str, Callable[[_Call], Awaitable[None]]] = {
    "echo": _echo,
    "delay": _delay,
    "big": _big,
    "progress": _progress,
    "notify": _notify,
    "ask": _ask,
    "task": _task,
    "fail": _fail,
    "error": _error_answer,
    "block": _block,
    "garbage": _garbage,
    "twice": _twice,
    "resume": _resume,
    "forget": _forget,
    "then drop": _then_drop,
    "never": _never,
    "hang": _hang,
    "die": _die,
    "die after": _die_after,
    "drop": _drop,
    "drop after": _drop_after,
    "half": _half,
    "busy": _busy,
    "repeat": _repeat,
}


def _result(message: Mapping[str, Any], result: Mapping[str, Any]) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _error(message: Mapping[str, Any], code: int, text: str) -> Json:
    error = {"code": code, "message": text}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def _notification(method: str, params: Mapping[str, Any]) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}

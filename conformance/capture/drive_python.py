"""Runs a script through the client of the Python SDK 1.x (``mcp``): the handshake era.

Usage: ``python drive_python.py < task.json``, with a Python that has the SDK. It prints what
`steps.mjs` prints, and imports nothing of this repository, whose modules that Python does not know.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Callable

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.websocket import websocket_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import AnyUrl, BaseModel

TIMED_OUT, CLOSED = 408, -32000


def note(facts: dict[str, Any]) -> None:
    """Print a line, with the clock that the taps use."""
    print(json.dumps({"ns": str(time.monotonic_ns()), **facts}), flush=True)


def wire(value: BaseModel) -> dict[str, Any]:
    """Return a model as the server has sent it."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Answers:
    """The answers of the user to the requests of one kind, in order, the last again and again."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self._left = list(answers)

    def next(self) -> dict[str, Any]:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


class User:
    """Does the steps of a script."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.session: ClientSession
        self.version: str | int | None = None
        self._script = script
        self._settings = script["client"]
        self._roots = self._settings.get("roots", [])
        self._number = 0
        self._told: Counter[str] = Counter()
        self._change = asyncio.Event()

    # The user's side of the session

    def callbacks(self) -> dict[str, Any]:
        """Return the arguments of `ClientSession` for what the script's client declares."""
        declared = self._settings.get("capabilities", {})
        options: dict[str, Any] = {"message_handler": self._told_of}
        if "sampling" in declared:
            options["sampling_callback"] = self._in_order("sampling", types.CreateMessageResult)
            options["sampling_capabilities"] = types.SamplingCapability(**declared["sampling"])
        if "elicitation" in declared:
            options["elicitation_callback"] = self._in_order("elicitation", types.ElicitResult)
        if "roots" in declared:
            options["list_roots_callback"] = self._list_roots
        return options

    def _in_order(self, kind: str, result: type[BaseModel]) -> Callable[..., Any]:
        answers = Answers(self._settings.get(kind, []))

        async def answer(context: Any, params: Any) -> Any:
            found = answers.next()
            if "error" in found:
                return types.ErrorData(**found["error"])
            with_tools = isinstance(found.get("content"), list)
            return (types.CreateMessageResultWithTools if with_tools else result)(**found)

        return answer

    async def _list_roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": self._roots})

    async def _told_of(self, message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            told = wire(message.root)
            if told["method"] == "notifications/progress":
                return
            note({"notification": {k: v for k, v in told.items() if k in ("method", "params")}})
            self._told[told["method"]] += 1
            self._change.set()

    # Steps

    async def run(self) -> None:
        for step in self._script["steps"]:
            await self.do(step)

    async def do(self, step: dict[str, Any]) -> None:
        number, self._number = self._number, self._number + 1
        note({"step": number, "do": step["do"], "begins": True})
        progress: list[dict[str, Any]] = []
        try:
            outcome: dict[str, Any] = {"result": await getattr(self, step["do"])(step, progress)}
        except Exception as error:
            outcome = failure_of(error)
        if progress:
            outcome["progress"] = progress
        note({"step": number, "outcome": outcome})

    async def ping(self, step: Any, progress: Any) -> Any:
        return wire(await self.session.send_ping())

    async def _pages(self, method: Callable[..., Any], items: str) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
            page = await method(params=params)
            found += [wire(item) for item in getattr(page, items)]
            cursor = page.nextCursor
            if cursor is None:
                return found

    async def list_tools(self, step: Any, progress: Any) -> Any:
        return await self._pages(self.session.list_tools, "tools")

    async def list_resources(self, step: Any, progress: Any) -> Any:
        return await self._pages(self.session.list_resources, "resources")

    async def list_resource_templates(self, step: Any, progress: Any) -> Any:
        return await self._pages(self.session.list_resource_templates, "resourceTemplates")

    async def list_prompts(self, step: Any, progress: Any) -> Any:
        return await self._pages(self.session.list_prompts, "prompts")

    async def call_tool(self, step: Any, progress: list[dict[str, Any]]) -> Any:
        async def report(done: float, total: float | None, message: str | None) -> None:
            members = {"progress": done, "total": total, "message": message}
            progress.append({name: value for name, value in members.items() if value is not None})

        options: dict[str, Any] = {}
        if step.get("progress"):
            options["progress_callback"] = report
        if "timeout" in step:
            options["read_timeout_seconds"] = timedelta(seconds=step["timeout"])
        return wire(await self.session.call_tool(step["name"], step["arguments"], **options))

    async def read_resource(self, step: Any, progress: Any) -> Any:
        return wire(await self.session.read_resource(AnyUrl(step["uri"])))

    async def get_prompt(self, step: Any, progress: Any) -> Any:
        return wire(await self.session.get_prompt(step["name"], step.get("arguments")))

    async def complete(self, step: Any, progress: Any) -> Any:
        kinds = {
            "ref/prompt": types.PromptReference,
            "ref/resource": types.ResourceTemplateReference,
        }
        reference = kinds[step["ref"]["type"]](**step["ref"])
        argument = {"name": step["argument"], "value": step["value"]}
        return wire(await self.session.complete(reference, argument, step.get("context")))

    async def together(self, step: Any, progress: Any) -> Any:
        await asyncio.gather(*map(self.do, step["steps"]))
        return {}

    async def wait_for(self, step: Any, progress: Any) -> Any:
        while self._told[step["method"]] < step["count"]:
            self._change.clear()
            await self._change.wait()
        return {}

    async def set_log_level(self, step: Any, progress: Any) -> Any:
        return wire(await self.session.set_logging_level(step["level"]))

    async def subscribe(self, step: Any, progress: Any) -> Any:
        return wire(await self.session.subscribe_resource(AnyUrl(step["uri"])))

    async def unsubscribe(self, step: Any, progress: Any) -> Any:
        return wire(await self.session.unsubscribe_resource(AnyUrl(step["uri"])))

    async def set_roots(self, step: Any, progress: Any) -> Any:
        self._roots = step["roots"]
        await self.session.send_roots_list_changed()
        return {}


def failure_of(error: Exception) -> dict[str, Any]:
    """Return an outcome that is no result."""
    if not isinstance(error, McpError):
        return {"failed": "refused", "detail": str(error)}
    if error.error.code == TIMED_OUT:
        return {"failed": "timeout", "detail": str(error)}
    if error.error.code == CLOSED and error.error.message == "Connection closed":
        return {"failed": "closed", "detail": str(error)}
    return {"error": wire(error.error)}


class Streams:
    """The transport of a session, which closes with the stack."""

    def __init__(
        self, stack: AsyncExitStack, target: dict[str, Any], headers: dict[str, str] | None
    ) -> None:
        self._stack = stack
        self._headers = headers
        self._target = target
        self._is_open = asyncio.Event()

    async def open(self) -> tuple[Any, Any]:
        """Return where to read from, and where to write to."""
        kind, target = self._target["transport"], self._target
        if kind == "stdio":
            opened: Any = stdio_client(StdioServerParameters(**target["process"]))
        elif kind == "http":
            client = create_mcp_http_client(self._headers)
            client.event_hooks["response"] = [self._answered]
            await self._stack.enter_async_context(client)
            opened = streamable_http_client(target["url"], http_client=client)
        else:
            opened = {"sse": sse_client, "ws": websocket_client}[kind](target["url"])
        reading, writing, *more = await self._stack.enter_async_context(opened)
        self._session_id = more[0] if more else lambda: None
        return reading, writing

    async def _answered(self, response: Any) -> None:
        if response.request.method == "GET":
            self._is_open.set()

    async def settled(self) -> None:
        """Wait until the server's own stream is open: the order is the same in every run."""
        if self._session_id() is not None:
            await self._is_open.wait()


async def main() -> None:
    """Connect, do the steps, close."""
    task = json.load(sys.stdin)
    user = User(task["script"])
    async with AsyncExitStack() as stack:
        streams = Streams(stack, task["target"], task["script"]["client"].get("headers"))
        info = types.Implementation(**task["clientInfo"])
        session = ClientSession(*await streams.open(), client_info=info, **user.callbacks())
        user.session = await stack.enter_async_context(session)
        try:
            result = wire(await user.session.initialize())
        except Exception as error:
            note({"connected": failure_of(error)})
            return
        await streams.settled()
        known = {"protocol_version": "protocolVersion", "server": "serverInfo"}
        known.update({name: name for name in ("capabilities", "instructions")})
        note(
            {
                "connected": {
                    name: result[on_wire] for name, on_wire in known.items() if on_wire in result
                }
            }
        )
        await user.run()
    note({"closed": True})


asyncio.run(main())

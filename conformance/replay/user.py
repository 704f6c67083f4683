"""The user of a script (`conformance.scripts`), played with this library's public interface."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Callable, Protocol

import mcpclient
from mcpclient.client.connection.client_options import TransportName

from .own_options import own_options
from .visits import authentication

__all__ = ["User"]

# How long the handlers of a user who never answers take: longer than any script.
NEVER = 3600.0

# What a reference client hands to no handler of its user's.
_HANDLED_INSIDE = {
    "notifications/cancelled",
    "notifications/progress",
    "notifications/subscriptions/acknowledged",
}

# So does its user ask for a task that names no interval, in seconds.
_POLL_INTERVAL = 1.0

Outcome = dict[str, Any]
Handler = Callable[[Any], Awaitable[Any]]
Answer = Mapping[str, Any]


class Watcher(Protocol):
    """The recipient of the user's notifications."""

    async def begins(self, number: int, do: str) -> None:
        """Wait until a step may begin."""

    def ends(self, number: int, outcome: Outcome) -> None:
        """Record the outcome of a step."""

    async def visit(self, url: str) -> str | None:
        """Return where a URL leads that the user is sent to; None: nowhere."""

    def played(self, text: str) -> str:
        """Return a string of the transcript with the names of this meeting in it."""


class User:
    """Connects, does the steps one by one, and closes.

    ``may_ask``: how often the server asks for an elicitation; the user says no to any more.
    ``offers``: the revision that the client asks for, which may not be the one it gets; None: the
    newest, and others after it.
    ``notifications``: what the user learned, in order. ``questions``: how many elicitations there
    were.
    """

    def __init__(
        self,
        script: Mapping[str, Any],
        offers: str | None,
        may_ask: int,
        watcher: Watcher,
    ) -> None:
        self.notifications: list[dict[str, Any]] = []
        self.questions = 0
        self._steps: Sequence[Mapping[str, Any]] = script["steps"]
        self._settings: Mapping[str, Any] = script.get("client", {})
        self._offers = self._settings.get("offers", offers)
        self._may_ask = may_ask
        self._auth: Mapping[str, Any] | None = script.get("auth")
        self._watcher = watcher
        self._number = 0
        self._tasks: list[str] = []
        self._told: Counter[str] = Counter()
        self._change = asyncio.Event()
        self._next_step = asyncio.Event()
        self._asked: Callable[[], object] = lambda: None
        self._client: mcpclient.Client

    # Connecting

    async def connect(
        self, target: Any, transport: TransportName, info: Mapping[str, Any]
    ) -> Outcome:
        """Connect; return the server's description, or why it failed."""
        options: dict[str, Any] = {
            "transport": None if self._settings.get("either") else transport,
            "protocol_version": self._offers,
            "strict_version": True,  # as strict as the reference clients are
            "validate": "strict",
            "auth": self._authentication(info["name"]),
            "client_info": info,
            "on_notification": self._notified,
            "stderr": "discard",
            "headers": self._settings.get("headers"),
            "retry_busy": self._settings.get("retry_busy", False),
            **self._handlers(),
            **own_options(self._settings.get("options", {}), self._notified),
        }
        self._client = mcpclient.connect(target, **options)
        try:
            await self._client.connect()
        except mcpclient.McpError as error:
            return failure_of(error)
        assert self._client.is_connected, "it has connected, and says that it has not"
        connected: Outcome = {
            "protocol_version": self._client.protocol_version,
            "server": self._client.server_info.raw,
            "capabilities": self._client.capabilities,
        }
        if self._client.instructions is not None:
            connected["instructions"] = self._client.instructions
        return connected

    def _authentication(self, client_name: str) -> Any:
        # It may name places of the server's.
        auth = json.loads(self._watcher.played(json.dumps(self._auth)))
        return authentication(auth, client_name, self._watcher.visit)

    async def run(self) -> None:
        """Do the steps."""
        for step in self._steps:
            await self._do(step)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()
        assert not self._client.is_connected, "it was closed, and says that it is connected"

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        if method in _HANDLED_INSIDE:
            return
        note: dict[str, Any] = {"method": method}
        if params:
            note["params"] = dict(params)
        self.notifications.append(note)
        self._told[method] += 1
        self._change.set()

    # How the user answers

    def _handlers(self) -> dict[str, Any]:
        capabilities = self._settings.get("capabilities", {})
        options: dict[str, Any] = {}
        if "sampling" in capabilities:
            options["sampling"] = mcpclient.Sampling(
                self._in_order(self._settings.get("sampling", [])),
                tools="tools" in capabilities["sampling"],
                context="context" in capabilities["sampling"],
            )
        if "elicitation" in capabilities:
            answer = self._limited(self._in_order(self._settings.get("elicitation", [])))
            modes = capabilities["elicitation"] or {"form": {}}
            told = self._completed if "url" in modes else None
            options["elicitation"] = mcpclient.Elicitation(
                **dict.fromkeys(modes, answer), on_complete=told
            )
        if "roots" in capabilities:
            options["roots"] = self._settings.get("roots", [])
        if "tasks" in capabilities:
            options["tasks"] = True
        if "extensions" in capabilities:
            options["extensions"] = capabilities["extensions"]
        for name in ("keep_alive", "connect_timeout"):
            if name in self._settings:
                options[name] = self._settings[name]
        return options

    def _completed(self, elicitation_id: str) -> None:
        if self._settings.get("tells_completion"):
            self._notified("hooks/on_complete", {"id": elicitation_id})

    def _limited(self, answer: Handler) -> Handler:
        async def limited(request: Any) -> Any:
            self.questions += 1
            return await answer(request) if self.questions <= self._may_ask else False

        return limited

    def _in_order(self, answers: Sequence[Answer]) -> Handler:
        left = list(answers)

        async def answer(request: Any) -> Any:
            self._asked()
            found = left.pop(0) if len(left) > 1 else left[0]
            if found.get("never"):
                await asyncio.sleep(NEVER)
            if "late" in found:
                with suppress(asyncio.CancelledError):
                    await self._next_step.wait()
                return _in_words_of_the_library(found["late"])
            await asyncio.sleep(found.get("after", 0))
            if "raises" in found:
                raise ValueError(found["raises"])
            if "refuses" in found:
                raise mcpclient.PeerError(**found["refuses"])
            if "stops" in found:
                raise asyncio.CancelledError
            return _in_words_of_the_library(found)

        return answer

    # Steps

    async def _do(self, step: Mapping[str, Any]) -> None:
        number, self._number = self._number, self._number + 1
        self._next_step.set()
        self._next_step = asyncio.Event()
        await self._watcher.begins(number, step["do"])
        progress: list[Any] = []
        try:
            outcome = {"result": await getattr(self, step["do"])(step, progress)}
        except mcpclient.McpError as error:
            outcome = failure_of(error)
        except _Cancelled:
            outcome = {"failed": "cancelled"}
        if progress:
            outcome["progress"] = progress
        self._watcher.ends(number, outcome)

    async def ping(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.ping()
        return {}

    async def list_tools(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        limits = {"timeout": "timeout", "total": "max_timeout"}
        options = {limits[name]: step[name] for name in limits if name in step}
        return [tool.raw for tool in await self._client.list_tools(**options)]

    async def list_resources(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return [resource.raw for resource in await self._client.list_resources()]

    async def list_resource_templates(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return [template.raw for template in await self._client.list_resource_templates()]

    async def list_prompts(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return [prompt.raw for prompt in await self._client.list_prompts()]

    async def call_tool(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        options: dict[str, Any] = {}
        if step.get("progress"):
            options["on_progress"] = lambda update: progress.append(_progress(update))
        if "timeout" in step:
            options["timeout"] = step["timeout"]
        if "meta" in step:
            options["meta"] = step["meta"]
        if "total" in step:
            options["max_timeout"] = step["total"]
        return (await self._client.call_tool(step["name"], step["arguments"], **options)).raw

    async def call_tools(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        calling = asyncio.ensure_future(self._client.call_tools(step["calls"]))
        done, _ = await asyncio.wait({calling}, timeout=step.get("cancelled_after"))
        if not done:
            calling.cancel()
            await asyncio.wait({calling})
        if calling.cancelled():
            raise _Cancelled
        outcomes = calling.result()
        return [
            failure_of(each) if isinstance(each, mcpclient.McpError) else each.raw
            for each in outcomes
        ]

    async def request(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return dict(await self._client.request(step["method"], step.get("params")))

    async def cancel_call(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        def update(got: mcpclient.Progress) -> None:
            progress.append(_progress(got))
            if step["after"] == "progress":
                call.cancel()

        call = asyncio.ensure_future(
            self._client.call_tool(step["name"], step["arguments"], on_progress=update)
        )
        if step["after"] == "request":
            self._asked = call.cancel
        try:
            await asyncio.wait({call})
        finally:
            self._asked = lambda: None
            call.cancel()
        if call.cancelled():
            raise _Cancelled
        return call.result().raw

    async def read_resource(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        options = {name: step[name] for name in ("meta", "fresh") if name in step}
        return (await self._client.read_resource(step["uri"], **options)).raw

    async def get_prompt(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return (await self._client.get_prompt(step["name"], step.get("arguments"))).raw

    async def complete(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        completion = await self._client.complete(
            step["ref"], step["argument"], step["value"], context=step.get("context")
        )
        return {"completion": completion.raw}

    async def together(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await asyncio.gather(*map(self._do, step["steps"]))
        return {}

    async def pause(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await asyncio.sleep(step["seconds"])
        return {}

    async def wait_for(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        while self._told[step["method"]] < step["count"]:
            self._change.clear()
            await self._change.wait()
        return {}

    async def connect_again(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.close()
        await self._client.connect()
        return {}

    async def set_log_level(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.set_log_level(step["level"])
        return {}

    async def subscribe(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.subscribe_resource(step["uri"])
        return {}

    async def unsubscribe(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.unsubscribe_resource(step["uri"])
        return {}

    async def set_roots(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.set_roots(step["roots"])
        return {}

    async def terminate_session(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.close()  # as this library does it
        return {}

    # Tasks

    async def call_tool_task(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        options: dict[str, Any] = {}
        if "ttl" in step:
            options["ttl"] = step["ttl"] / 1000
        if step.get("progress"):
            options["on_progress"] = lambda update: progress.append(_progress(update))
        task = await self._client.call_tool_task(step["name"], step["arguments"], **options)
        self._tasks.append(task.id)
        return task.raw

    async def get_task(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return (await self._client.get_task(self._tasks[step["task"]])).raw

    async def await_task(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        while True:
            task = await self._client.get_task(self._tasks[step["task"]])
            if task.status != "working":
                return task.raw
            interval = task.raw.get("pollInterval")
            await asyncio.sleep(_POLL_INTERVAL if interval is None else interval / 1000)

    async def task_result(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return await self._client.request("tasks/result", {"taskId": self._tasks[step["task"]]})

    async def cancel_task(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        await self._client.cancel_task(self._tasks[step["task"]])
        return {}

    async def list_tasks(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        return [task.raw for task in await self._client.list_tasks()]

    # The stateless era

    async def listen(self, step: Mapping[str, Any], progress: list[Any]) -> Any:
        wanted = {
            name: step[name] for name in ("tools", "prompts", "resources", "uris") if name in step
        }
        async with self._client.listen(**wanted) as subscription:
            for inner in step["steps"]:
                await self._do(inner)
            await self.wait_for(step["until"], progress)
            acknowledged = subscription.acknowledged
        return {"acknowledged": acknowledged.to_wire() if acknowledged else None}


class _Cancelled(Exception):
    """The user has cancelled a step himself."""


def _in_words_of_the_library(answer: Answer) -> object:
    """Return the answer of this library's user: how it is sent, the library chooses."""
    if "error" in answer or answer.get("action") == "cancel":
        return None
    if answer.get("action") == "decline":
        return False
    return (
        answer["content"] if answer.get("action") == "accept" and answer.get("content") else answer
    )


def _progress(update: mcpclient.Progress) -> dict[str, Any]:
    members = {
        "progress": update.progress,
        "total": update.total,
        "message": update.message,
    }
    return {name: value for name, value in members.items() if value is not None}


_FAILURES: tuple[tuple[type[mcpclient.McpError], str], ...] = (
    (mcpclient.CallTimeout, "timeout"),
    (mcpclient.AuthError, "unauthorized"),
    (mcpclient.HttpError, "http"),
    (mcpclient.UsageError, "refused"),
    (mcpclient.ProtocolViolation, "refused"),
    (mcpclient.ConnectionLost, "closed"),
)


def failure_of(error: mcpclient.McpError) -> Outcome:
    """Return an outcome that is not a result."""
    if isinstance(error, mcpclient.PeerError):
        facts: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not None:
            facts["data"] = error.data
        return {"error": facts}
    kind = next((kind for types, kind in _FAILURES if isinstance(error, types)), "other")
    outcome: Outcome = {"failed": kind, "detail": str(error)}
    if isinstance(error, mcpclient.HttpError):
        outcome["status"] = error.status
    return outcome

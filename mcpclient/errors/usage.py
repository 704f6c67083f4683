"""Errors of the caller: the request cannot be carried out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .root import SHOWN_BODY, McpError, safe_repr

# Recorded requests that the message of `NotRecorded` shows.
_SHOWN_PARAMS = 3


class UsageError(McpError):
    """The call cannot be made as asked: a wrong argument, or a value JSON cannot carry."""


class ClientClosed(UsageError):
    """The client is closed, or was closed while this call waited for its answer."""

    def __str__(self) -> str:
        return self.args[0] if self.args else "the client is closed; connect again to make calls"


class CallRefused(UsageError):
    """A hook, a filter or a pin refused a request that is not a tool call, so it was not sent.

    A refused tool call returns a result that says so instead. Fields: ``method``, ``name`` (of the
    prompt, or the URI) and ``reason``.
    """

    def __init__(self, method: str, name: str, reason: str) -> None:
        self.method = method
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.method} of {self.name!r} was refused: {self.reason}"


class HandlerFailed(UsageError):
    """The handler for a request of the server returned no answer that can be sent.

    The handler raised (``__cause__`` is then its exception), returned a value that does not fit, or
    the user refused. Fields: ``method`` (of the server's request), ``reason``, and ``code``, the
    JSON-RPC error code sent to a server that waits for an answer.
    """

    def __init__(self, method: str, reason: str, code: int = -32603) -> None:
        self.method = method
        self.reason = reason
        self.code = code

    def __str__(self) -> str:
        return f"the server's {self.method} was not answered: {self.reason}"


class SandboxUnavailable(UsageError):
    """A server is to run in a sandbox that this system cannot provide, so it was not started.

    Fields: ``reason``: what the system lacks.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __str__(self) -> str:
        return f"the server cannot be confined: {self.reason}"


class ServerUnavailable(UsageError):
    """A call needs a server that its manager does not connect, or whose breaker refuses calls.

    Fields: ``server`` (its name), ``status`` (such as ``"disabled"``, ``"closed"`` or
    ``"failing"``) and ``reason``: why, and what to do about it.
    """

    def __init__(self, server: str, status: str, reason: str) -> None:
        self.server = server
        self.status = status
        self.reason = reason

    def __str__(self) -> str:
        verb = "" if self.status.startswith("needs") else "is "
        return f"server {self.server!r} {verb}{self.status.replace('_', ' ')}: {self.reason}"


class NotRecorded(UsageError):
    """A replay was asked for something that is not in its recording.

    Fields: ``recording`` (its name), ``method``, ``params`` (as they were looked up, with secrets
    replaced) and ``recorded``: the params of the requests that were recorded for this method, the
    most similar first.
    """

    def __init__(
        self, recording: str, method: str, params: Any, recorded: Sequence[Any] = ()
    ) -> None:
        self.recording = recording
        self.method = method
        self.params = params
        self.recorded: tuple[Any, ...] = tuple(recorded)

    def __str__(self) -> str:
        asked = f" {_shown_json(self.params)}" if self.params is not None else ""
        text = f"{self.method}{asked} is not in the recording {self.recording}"
        nearest = "; ".join(map(_shown_json, self.recorded[:_SHOWN_PARAMS]))
        if not self.recorded:
            text += f", nor is any other {self.method}"
        elif len(self.recorded) > _SHOWN_PARAMS:
            text += f"; the nearest of {len(self.recorded)} recorded there: {nearest}"
        else:
            text += f"; recorded there: {nearest}"
        return text


def _shown_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return safe_repr(value)
    return text if len(text) <= SHOWN_BODY else f"{text[:SHOWN_BODY]}…"

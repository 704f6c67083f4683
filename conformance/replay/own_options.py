"""Options of this library that no other client has: for sessions in which it is the client."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, Callable

import mcpclient
from mcpclient.client.events.around import Proceed

__all__ = ["own_options"]

# Programs that print headers: another one each time, or the same.
_PRINTED = {
    "anew": """import os; print('{"Authorization": "Bearer %s"}' % os.urandom(9).hex())""",
    "again": 'print(\'{"Authorization": "Bearer the-token-of-a-program"}\')',
}


def own_options(
    named: Mapping[str, Any], tell: Callable[[str, Mapping[str, Any]], None]
) -> dict[str, Any]:
    """Return the options of `connect` that a script names; see `conformance.scripts`.

    ``tell``: called with the facts that hooks are given, as if they were a notification.
    """
    options = dict(named)
    for name, kind in (("limits", mcpclient.ServerLimits), ("reconnect", mcpclient.Reconnect)):
        if name in options:
            options[name] = kind(**options[name])
    if options.pop("watched", False):
        options["around"] = [_in_capitals]
        names = ("on_connect", "on_tool_call", "on_error")
        options["hooks"] = mcpclient.Hooks(**{name: _telling(name, tell) for name in names})
        for name in ("on_close", "on_error"):
            options[name] = _telling_of(name, tell)
    if "headers_printed" in options:
        lines = _PRINTED[options.pop("headers_printed")]
        options["headers"] = mcpclient.HeadersFrom([sys.executable, "-Ic", lines])
    if "model" in options:
        options["sampling"] = {"model": options.pop("model"), "complete": _completed}
    for name in ("roots", "headers"):
        if f"{name}_when_asked" in options:
            options[name] = _returning(options.pop(f"{name}_when_asked"))
    return options


async def _in_capitals(call: mcpclient.Call, proceed: Proceed) -> mcpclient.CallToolResult:
    """Change what is sent; refuse the tool that is called "forbidden"."""
    if call.name == "forbidden":
        return mcpclient.CallToolResult({"content": [], "isError": True})
    text = call.arguments.get("text")
    if text is None:
        return await proceed(call)
    meta = {"com.example/by": call.full_name}
    return await proceed(dataclasses.replace(call, arguments={"text": text.upper()}, meta=meta))


def _telling_of(
    name: str, tell: Callable[[str, Mapping[str, Any]], None]
) -> Callable[[mcpclient.McpError | None], None]:
    """Return a callback that tells the words of its error, or none."""

    def callback(error: mcpclient.McpError | None) -> None:
        tell(f"callbacks/{name}", {} if error is None else {"error": str(error)})

    return callback


def _telling(name: str, tell: Callable[[str, Mapping[str, Any]], None]) -> Callable[..., None]:
    """Return a hook that tells its facts, but for where the server is, and times."""

    def hook(**facts: object) -> None:
        known = {key: value for key, value in facts.items() if isinstance(value, (str, int))}
        known.pop("server", None)
        tell(f"hooks/{name}", known)

    return hook


async def _completed(messages: list[dict[str, Any]], options: Mapping[str, Any]) -> Any:
    """Answer as a model does: in text, or by nothing where little may be said."""
    most = options["max_tokens"]
    if most < 10:
        return None
    text = f"{len(messages)} messages, at most {most} tokens"
    if most < 50:
        return text
    message = {"role": "assistant", "content": text}
    return {"model": "that-one", "choices": [{"message": message, "finish_reason": "length"}]}


def _returning(value: Any) -> Any:
    async def answer() -> Any:
        return value

    return answer

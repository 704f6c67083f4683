"""The caller's handlers, made so that they run in a worker thread and may block.

Only plain functions need that. A coroutine function runs in the event loop, as it does everywhere.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, wraps
from typing import Any, Callable, Protocol, cast

from ..client.events import around
from ..client.events.around import Around, Call, Proceed
from ..client.events.callbacks import Hooks, OrderedCallback
from ..net.futures import BackgroundTasks
from ..protocol.types import CallToolResult
from .loop_thread import running_loop_thread


def in_worker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async function that runs ``function`` in a worker thread; one already async as is.

    What that returns may be awaitable itself: then it is awaited in the event loop.
    """
    if _is_async(function):
        return function

    @wraps(function, updated=())
    async def run(*arguments: Any, **options: Any) -> Any:
        answer = await _call(function, arguments, options)
        return await answer if inspect.isawaitable(answer) else answer

    return run


def _call(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> asyncio.Future[Any]:
    return running_loop_thread().workers.call(function, arguments, options)


def _is_async(function: object) -> bool:
    while isinstance(function, partial):
        function = function.func
    called = (
        function
        if inspect.isroutine(function)
        else inspect.getattr_static(type(function), "__call__", None)
    )
    return inspect.iscoroutinefunction(called)


def ask_unless_read_only(ask: Callable[[Call], bool | str | Awaitable[bool | str]]) -> Around:
    """Return what `mcpclient.ask_unless_read_only` does; a plain ``ask`` may block."""
    return around.ask_unless_read_only(in_worker(ask))


# What each option holds


def _moved(value: Any) -> Any:
    """Move a function, or the functions among the fields of a record or a mapping."""
    if is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **_moved_among(held))
    if isinstance(value, Mapping):
        return {**value, **_moved_among(value)}
    return in_worker(value) if callable(value) else value


def _moved_among(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: in_worker(value) for name, value in values.items() if callable(value)}


# Only these are called where their answer is awaited; what signs, for example, is called as it is.
_TOKEN_SOURCES = ("token", "key", "assertion", "identity_assertion")


def _moved_authentication(auth: Any) -> Any:
    sources = {name: getattr(auth, name, None) for name in _TOKEN_SOURCES}
    moved = _moved_among(sources)
    return replace(auth, **moved) if moved else auth


def _moved_hooks(hooks: Hooks | None) -> Hooks | None:
    """Move functions that nobody waits for; each is called with one event after the other."""
    if hooks is None:
        return None
    told = hooks._asdict()
    return Hooks(**{name: _told_later(hook) for name, hook in told.items() if hook is not None})


def _told_later(hook: Callable[..., Any]) -> Callable[..., None]:
    run = in_worker(hook)
    call = OrderedCallback(lambda facts: run(**facts), BackgroundTasks())

    def tell(**facts: Any) -> None:
        call(facts)

    return tell


class BlockingAround(Protocol):
    """An `Around` as a plain function: it may block, and so does ``proceed``."""

    def __call__(
        self, call: Call, proceed: Callable[[Call], CallToolResult], /
    ) -> CallToolResult | Awaitable[CallToolResult]:
        """Return the result of ``call``."""
        ...


def _moved_around(hooks: Sequence[Around | BlockingAround]) -> Sequence[Around]:
    return [_around_in_worker(hook) for hook in hooks]


def _around_in_worker(hook: Around | BlockingAround) -> Around:
    """Return an around-hook that runs a plain one in a worker."""
    if _is_async(hook):
        return cast("Around", hook)

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        thread = running_loop_thread()
        under_way: set[asyncio.Task[Any]] = set()

        async def tracked(call: Call) -> CallToolResult:
            task = asyncio.current_task()
            assert task is not None
            under_way.add(task)
            try:
                return await proceed(call)
            finally:
                under_way.discard(task)

        try:
            result: CallToolResult | Awaitable[CallToolResult] = await thread.workers.call(
                hook, (call, lambda call: thread.run(tracked(call))), {}
            )
            return await result if inspect.isawaitable(result) else result
        except asyncio.CancelledError:
            for task in under_way:
                task.cancel()  # else the worker would go on waiting, and the server working
            raise

    return around


HANDLERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        (
            *("elicitation", "sampling", "roots", "headers", "approve"),
            *("on_progress", "on_status", "on_notification", "on_log", "on_error", "on_close"),
            "on_event",
        ),
        _moved,
    ),
    "around": _moved_around,
    "hooks": _moved_hooks,
    "auth": _moved_authentication,
}
"""The options that hold handlers of the caller's, and how each is moved to the workers."""


def with_workers(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of which every handler runs in a worker thread."""
    for name in options.keys() & HANDLERS.keys():
        options[name] = HANDLERS[name](options[name])
    return options

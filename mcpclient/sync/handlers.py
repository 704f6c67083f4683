"""The caller's handlers, wrapped so that plain functions run in threads of their own and may block.

Coroutine functions run in the event loop, as they do everywhere.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Callable, Union, cast

from ..client.connection.option_kinds import ANY, CLIENT_OPTIONS
from ..client.events import around
from ..client.events.around import Around, Call, Proceed
from ..client.events.callbacks import Hooks, OrderedCallback
from ..net.futures import BackgroundTasks, call_in_thread, settled
from ..protocol.types import CallToolResult
from .loop_thread import running_loop_thread


def call_in_worker(
    function: Callable[..., Any], *arguments: Any, **options: Any
) -> asyncio.Future[Any]:
    """Call a function in a daemon thread of its own and return a future of the running event loop.

    The function runs in the caller's context. Nothing limits the number of threads: a handler may
    call the client, whose server then calls another handler while the first waits. The future is
    cancelled if no thread can be started any more, because the interpreter is shutting down.
    """
    context = contextvars.copy_context()

    def work() -> Any:
        try:
            return context.run(function, *arguments, **options)
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                raise
            # SystemExit would end the loop of all clients; futures cannot hold StopIteration.
            raise RuntimeError(f"a handler raised {type(error).__name__}") from None

    try:
        return call_in_thread(work, "mcpclient-handler")
    except RuntimeError:
        outcome = asyncio.get_running_loop().create_future()
        outcome.cancel()
        return outcome


def in_worker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async function that runs ``function`` in a worker thread.

    An async function is returned as it is. An awaitable that a plain function returns is awaited in
    the event loop.
    """
    if _is_async(function):
        return function

    @wraps(function, updated=())
    async def run(*arguments: Any, **options: Any) -> Any:
        return await settled(await call_in_worker(function, *arguments, **options))

    return run


def _is_async(function: object) -> bool:
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = inspect.getattr_static(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function)


def ask_unless_read_only(ask: Callable[[Call], bool | str | Awaitable[bool | str]]) -> Around:
    """Do the same as `mcpclient.ask_unless_read_only`; a plain ``ask`` may block."""
    return around.ask_unless_read_only(in_worker(ask))


# The options


def _moved(value: Any) -> Any:
    """Move a function, or the functions among the fields of a record or a mapping."""
    if hasattr(value, "_asdict") and not isinstance(value, type):
        return value._replace(**_moved_among(value._asdict()))
    if isinstance(value, Mapping):
        return {**value, **_moved_among(value)}
    return in_worker(value) if callable(value) else value


def _moved_among(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: in_worker(value) for name, value in values.items() if callable(value)}


# The callers of these await the result. A signing function, for example, is called synchronously.
_TOKEN_SOURCES = ("token", "key", "assertion", "identity_assertion")


def _moved_authentication(auth: Any) -> Any:
    sources = {name: getattr(auth, name, None) for name in _TOKEN_SOURCES}
    moved = _moved_among(sources)
    return replace(auth, **moved) if moved else auth


def _moved_hooks(hooks: Hooks) -> Hooks:
    """Move functions whose results are ignored; each gets one event after the other."""

    def moved(hook: Callable[..., Any]) -> Callable[..., None]:
        run = in_worker(hook)
        call = OrderedCallback(lambda facts: run(**facts), BackgroundTasks())
        return lambda **facts: call(facts)

    return Hooks(**{name: hook and moved(hook) for name, hook in hooks._asdict().items()})


BlockingAround = Callable[
    [Call, Callable[[Call], CallToolResult]], Union[CallToolResult, Awaitable[CallToolResult]]
]
"""An `Around` as a plain function: it may block, and so does ``proceed``."""


def _around_in_worker(hook: Around | BlockingAround) -> Around:
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
            result = await call_in_worker(hook, call, lambda call: thread.run(tracked(call)))
            return cast("CallToolResult", await settled(result))
        except asyncio.CancelledError:
            for task in under_way:
                task.cancel()  # otherwise the worker keeps waiting and the server keeps working
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
    "around": lambda hooks: [_around_in_worker(hook) for hook in hooks],
    "hooks": _moved_hooks,
    "auth": _moved_authentication,
}
"""The options with handlers of the caller, and the function that moves each to the workers."""


def with_workers(options: dict[str, Any]) -> dict[str, Any]:
    """Return options with each handler moved to a worker thread.

    A value of a wrong kind is left to the check of all options.
    """
    for name in options.keys() & HANDLERS.keys():
        if CLIENT_OPTIONS.get(name, ANY).fits(options[name]):
            options[name] = HANDLERS[name](options[name])
    return options

"""Functions around a call, which approve or refuse it, change it or measure it.

Telemetry, approval and limits are all functions of this form; nothing else wraps requests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Protocol, runtime_checkable

from ...errors import ClientClosed, PeerError, UsageError
from ...net.futures import settled
from ...net.shielded import TaskLocks
from ...protocol.types import CallToolResult, Tool
from .callbacks import Observer

if TYPE_CHECKING:
    from ...sandbox.denials import Denials


@dataclass(frozen=True)
class Call:
    """One request that is about to be made: a tool call, or one that names a prompt or a resource.

    - ``method``: ``"tools/call"``, ``"prompts/get"``, ``"resources/read"``,
      ``"resources/subscribe"``, ``"resources/directory/read"`` or ``"skills/get"``.
    - ``server``: the name of the server; ``name``: the server's own name of the tool or prompt,
      or a URI; ``full_name``: the name the caller knows it by, which differs only in a `Manager`.
      Rules are about the pair of ``server`` and ``name``.
    - ``arguments``, ``meta``, ``headers``: what will be sent. To send something else, proceed with
      ``dataclasses.replace(call, arguments=…)``.
    - ``tool``: its definition, None when it has not been listed, or since the server has said that
      its tools have changed. ``trusted``: whether the server's annotations may be believed, see
      `read_only`.
    - ``protocol_version``, ``transport``: of the connection, None before there is one. ``trace``:
      what the caller gave with the call, unchanged. ``approved_by``: what the audit log says of a
      call that a hook approves: ``proceed(replace(call, approved_by="approval"))``.
    """

    server: str
    name: str
    full_name: str
    arguments: Mapping[str, Any] = field(repr=False)
    meta: Mapping[str, Any] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tool: Tool | None = field(default=None, repr=False)
    trusted: bool = False
    method: str = "tools/call"
    protocol_version: str | None = None
    transport: str | None = None
    trace: Any = field(default=None, repr=False)
    approved_by: str = ""

    @property
    def read_only(self) -> bool:
        """Whether a trusted server says that it changes nothing; only tools may change anything."""
        if self.method != "tools/call":
            return self.trusted
        return self.trusted and self.tool is not None and self.tool.read_only

    @property
    def destructive(self) -> bool:
        """Whether it may destroy something. True unless a trusted server says otherwise."""
        if self.method != "tools/call":
            return not self.trusted
        return not self.trusted or self.tool is None or self.tool.destructive


Proceed = Callable[[Call], Awaitable[CallToolResult]]
"""Makes the call: the next function around it, or finally the request itself."""


class Around(Protocol):
    """A function that wraps every call: ``async def around(call, proceed)``.

    It runs once for each `Call` the user makes, by any method, in the caller's task, however often
    the request is retried. It may return the result of ``await proceed(call)``, or one of its own
    such as a `refusal`; its exceptions reach the caller. Time that it spends waiting, for a user
    for example, counts towards no timeout.

    The result of a request that is not a tool call is in ``raw``, and has no content. When it has
    ``is_error``, the caller of such a request gets `CallRefused`.
    """

    def __call__(self, call: Call, proceed: Proceed, /) -> Awaitable[CallToolResult]:
        """Return the result of ``call``."""
        ...


class Refused(dict[str, Any]):
    """The raw result of a call that was not made. ``by``: who refused it, for the audit log."""

    by = "hook"


@runtime_checkable
class Watcher(Around, Protocol):
    """An around-hook that is also called for every other request, and for connecting.

    Their ``method`` is the request's, or ``"connect"``, and their ``name`` is empty. The
    result of connecting has the ``method`` that opened the session, and its ``protocolVersion``.
    """

    def session_observer(self, describe: Callable[[], Call], /) -> Observer:
        """Return an observer of the sessions of one client, which ``describe`` describes."""
        ...


def refusal(reason: str) -> CallToolResult:
    """Return a result for a call that was not made: ``is_error``, with ``reason`` as its text.

    A model that made the call reads the reason as the tool's answer.
    """
    return CallToolResult(Refused(content=[{"type": "text", "text": reason}], isError=True))


def not_called(name: str, answer: object, by: str = "approval") -> CallToolResult:
    """Return the `refusal` of a call to ``name``; an answer that is text is the reason."""
    reason = answer if isinstance(answer, str) and answer else "the user did not allow it"
    refused = refusal(f"{name} was not called: {reason}")
    refused.raw.by = by  # type: ignore[attr-defined]
    return refused


# The locks of the questions that this task, or this worker, is answering.
_answering: ContextVar[tuple[TaskLocks, ...]] = ContextVar("answering", default=())


async def answer_in_turn(
    turns: TaskLocks, ask: Callable[..., object], *arguments: object
) -> object:
    """Return the answer of a function, plain or async, which is asked one question at a time."""
    # A call that the function itself makes before it answers must not wait for that answer.
    under_way = _answering.get()
    lock = turns.lock("question")
    if turns not in under_way:
        await lock.acquire()
    token = _answering.set((*under_way, turns))
    try:
        return await settled(ask(*arguments))
    finally:
        _answering.reset(token)
        if turns not in under_way:
            lock.release()


def surrounded(hooks: Sequence[Around], make: Proceed) -> Proceed:
    """Return ``make`` with ``hooks`` around it, the first of them outermost."""
    for hook in reversed(hooks):
        make = partial(_call_hook, hook, make)
    return make


async def _call_hook(hook: Around, proceed: Proceed, call: Call) -> CallToolResult:
    result: Any = await settled(hook(call, proceed))
    if not isinstance(result, CallToolResult):
        raise UsageError(
            f"the around-hook {hook!r} returned {type(result).__name__}, not a CallToolResult: "
            "return `await proceed(call)`, or mcpclient.refusal(reason)"
        )
    return result


async def name_denials(
    denials_of: Callable[[], Denials | None], call: Call, proceed: Proceed
) -> CallToolResult:
    """Make a call of a server in a sandbox; a failed one names its denials."""
    try:
        result = await proceed(call)
    except PeerError as error:
        with suppress(ClientClosed):  # it may be closed since the answer came
            denials = denials_of()
            if denials is not None:
                denials.advise(error)
        raise
    denials = None
    with suppress(ClientClosed):
        denials = denials_of()
    if denials is not None and result.is_error:
        result.warnings += [f"the sandbox: {each}" for each in denials.read_failure(result.text)]
    return result


def ask_unless_read_only(ask: Callable[[Call], bool | str | Awaitable[bool | str]]) -> Around:
    """Return an around-hook that asks before every `Call` that is not read-only, one at a time.

    ``ask`` takes the `Call`, may be plain or async, and returns True to allow the call. False, or a
    reason as a string, refuses it: the result is a `refusal`. Tools that a server with the option
    ``trusted`` annotates as read-only pass without a question, and so do reading resources and
    getting prompts.
    """
    turns = TaskLocks()

    async def approval(call: Call, proceed: Proceed) -> CallToolResult:
        if call.read_only:
            return await proceed(call)
        answer = await answer_in_turn(turns, ask, call)
        if answer is not True:
            return not_called(call.full_name, answer)
        return await proceed(replace(call, approved_by="approval"))

    return approval

"""The root of the tree, the errors of the caller and of authorization, and helpers for messages."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Callable, TypeVar

AnyMcpError = TypeVar("AnyMcpError", bound="McpError")

# Characters of a response body that a message shows; the field holds all that was kept.
SHOWN_BODY = 500


def safe_repr(value: object, longest: int | None = 100) -> str:
    """Return a value as messages show it: cut where it is long, and however deep it is."""
    try:
        text = repr(value)
    except RecursionError:
        return f"<{type(value).__name__}, nested too deeply to be shown>"
    return text if longest is None or len(text) <= longest else f"{text[:longest]}…"


def safe_str(value: object) -> str:
    """Return a string unchanged, and any other value of a server as `safe_repr` shows it."""
    return value if isinstance(value, str) else safe_repr(value, None)


def _escaped(text_of: Callable[[Any], str]) -> Callable[[Any], str]:
    @wraps(text_of)
    def escaped(error: Any) -> str:
        text: str = error._without_secrets(text_of(error))
        if text.isascii() and text.isprintable():
            return text
        from ..framing.escaping import escape

        return escape(text)

    return escaped


class McpError(Exception):
    """Root of every error this library raises on purpose.

    Fields of every one: ``hint``, one sentence that says what to do next. The text of an error may
    quote a server, so control and invisible characters in it are written out: ``\\x1b``.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__str__" in cls.__dict__:
            setattr(cls, "__str__", _escaped(cls.__str__))  # noqa: B010 - mypy: not a method

    @_escaped
    def __str__(self) -> str:
        return super().__str__()

    @property
    @_escaped
    def hint(self) -> str:
        """The next step, in one sentence; empty where the message says it.

        It names keyword arguments; `mcpclient.hints` words it for a shell as well.
        """
        from ..hints import hint_for

        hint: str = hint_for(self)
        return hint

    @property
    def cure(self) -> str:
        """The `hint`, by the name that it had before 1.0. It warns, and goes with 2.0."""
        warnings.warn("the cure of an error is called hint now", DeprecationWarning, stacklevel=2)
        return self.hint

    def advise(self: AnyMcpError, hint: str) -> AnyMcpError:
        """Set the hint, where more is known than of all errors of this kind.

        ``{name}`` in it stands for an option, as `mcpclient.hints` spells it.
        """
        self.__dict__["_hint"] = hint
        return self

    if not TYPE_CHECKING:  # for type checkers it is an attribute of BaseException

        @cached_property
        def __notes__(self) -> list[str]:
            """The hint, which Python 3.11 and later print below an uncaught exception."""
            # Made on access: facts are added after an error is made.
            return [f"Hint: {self.hint}"] if self.hint else []

    def mask(self, replace: Callable[[str], str]) -> None:
        """Apply ``replace`` to the text and the `repr` from now on. The fields do not change."""
        self.__dict__["_masks"] = (*self.__dict__.get("_masks", ()), replace)

    def _without_secrets(self, text: str) -> str:
        for replace in self.__dict__.get("_masks", ()):
            text = replace(text)
        return text

    def __repr__(self) -> str:
        try:
            return self._without_secrets(super().__repr__())
        except RecursionError:  # a field holds deeply nested data of a server
            fields = ", ".join(safe_repr(field) for field in self.args)
            return self._without_secrets(f"{type(self).__name__}({fields})")

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied without its constructor: ``args`` has only what was given by position.
        return _remade, (type(self), self.args), self.__dict__

    def again(self: AnyMcpError) -> AnyMcpError:
        """Return a copy to raise again, so that every waiter gets a traceback of its own."""
        import copy

        twin = copy.copy(self)
        twin.__cause__ = self.__cause__
        return twin


def _remade(kind: type[McpError], arguments: tuple[Any, ...]) -> McpError:
    return kind.__new__(kind, *arguments)


class NotChecked(McpError):
    """A validation reached one of its limits, so nothing is known of the value.

    Neither side broke a rule, so it is not a `ProtocolViolation`. Field: ``reason``.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __str__(self) -> str:
        return f"not checked: {self.reason}"


# Recorded requests that the message of `NotRecorded` shows.
_SHOWN_PARAMS = 3


class UsageError(McpError):
    """The call cannot be made as asked: a wrong argument, or a value JSON cannot carry."""


def built_without(module: str, purpose: str) -> UsageError:
    """Return the error for a module of the standard library that some Pythons lack."""
    return UsageError(f"this Python was built without {module}, which {purpose} needs")


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
            return f"{text}, nor is any other {self.method}"
        count = len(self.recorded)
        chosen = f"the nearest of {count} " if count > _SHOWN_PARAMS else ""
        return f"{text}; {chosen}recorded there: {nearest}"


def _shown_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return safe_repr(value)
    return text if len(text) <= SHOWN_BODY else f"{text[:SHOWN_BODY]}…"


class AuthError(McpError):
    """Authorization did not succeed."""

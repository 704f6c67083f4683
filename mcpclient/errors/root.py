"""The root of the tree, the one exception that no side caused, and helpers for all messages."""

from __future__ import annotations

import copy
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ..lazy import OnDemand

if TYPE_CHECKING:
    from .. import hints
    from ..framing import escaping
else:
    escaping = OnDemand("..framing.escaping", __name__)
    hints = OnDemand("..hints", __name__)

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
        text = text_of(error)
        return text if text.isascii() and text.isprintable() else escaping.escape(text)

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
    def hint(self) -> str:
        """The next step, in one sentence; empty where the message says it.

        It names keyword arguments; `mcpclient.hints` words it for a shell as well.
        """
        hint: str = hints.hint_for(self)
        return hint

    @property
    def cure(self) -> str:
        """The `hint`, by the name it had before; it goes with the next release."""
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
            """The hint, which Python 3.11 and later print below an uncaught exception.

            It is made on access, since facts are added after an error is made.
            """
            return [f"Hint: {self.hint}"] if self.hint else []

    def __repr__(self) -> str:
        try:
            return super().__repr__()
        except RecursionError:  # a field holds deeply nested data of a server
            return f"{type(self).__name__}({', '.join(safe_repr(field) for field in self.args)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied without its constructor: ``args`` has only what was given by position.
        return _remade, (type(self), self.args), self.__dict__

    def again(self: AnyMcpError) -> AnyMcpError:
        """Return a copy to raise again, so that every waiter gets a traceback of its own."""
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

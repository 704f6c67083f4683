"""Errors as the command line reports them: an exit code, a text, a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import (
    AuthError,
    CallTimeout,
    ConnectFailed,
    ConnectKind,
    HttpError,
    McpError,
    NetworkError,
    ProcessExited,
    UsageError,
    safe_repr,
)
from ..errors.network import text_without_output
from ..lazy import OnDemand
from .commands import NEEDS_AUTH, NO_CONNECTION, PROTOCOL_ERROR, TIMEOUT, USAGE

if TYPE_CHECKING:
    from .. import hints
else:
    hints = OnDemand("..hints", __name__)


def exit_code(error: McpError, *, connecting: bool = False) -> int:
    """Return the exit code that tells this kind of error.

    ``connecting``: it came before there was a connection, so whatever it is there is none.
    """
    if isinstance(error, UsageError) or _is_a_wrong_folder(error):
        return USAGE
    if isinstance(error, AuthError):
        return NEEDS_AUTH
    if isinstance(error, HttpError) and error.status in (401, 403):
        return NEEDS_AUTH
    if connecting:
        return NO_CONNECTION
    if isinstance(error, CallTimeout):
        return TIMEOUT
    return NO_CONNECTION if isinstance(error, NetworkError) else PROTOCOL_ERROR


def _is_a_wrong_folder(error: McpError) -> bool:
    return isinstance(error, ConnectFailed) and error.kind == ConnectKind.WORKING_DIRECTORY


def error_text(error: McpError, *, stderr_was_shown: bool) -> str:
    """Return an error in words, and what to do about it if that is known.

    What the server wrote to stderr is left out if ``stderr_was_shown`` already.
    """
    text, hint = text_and_hint(error)
    if isinstance(error, ProcessExited) and stderr_was_shown:
        text = text_without_output(error)
    return f"{text}\n{hint}" if hint else text


def text_and_hint(error: McpError) -> tuple[str, str]:
    """Return an error in words, and what to do next; that is empty where the words say it."""
    text = str(error)
    if isinstance(error, AuthError) and isinstance(error.__cause__, HttpError):
        text += f"\nAuthorization was needed because of: {error.__cause__}"
    return text, hints.hint_for(error, hints.SHELL)


def error_as_json(error: BaseException) -> dict[str, Any]:
    """Return an error with all its fields; ``type`` and ``text`` come first."""
    fields = {name: _flat(value) for name, value in vars(error).items() if name[0] != "_"}
    hint = hints.hint_for(error, hints.SHELL)
    said = {"hint": hint, "cure": hint} if isinstance(error, McpError) else {}
    return {"type": type(error).__name__, "text": str(error), **said, **fields}


def _flat(value: Any) -> Any:
    """Return the value in a form that can be printed as JSON, however deep it is."""
    try:
        plain = _plain(value)
        json.dumps(plain, indent=2)
    except RecursionError:
        return safe_repr(value)
    return plain


def _plain(value: Any) -> Any:
    """Return the value in a form that JSON has."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, BaseException):
        return error_as_json(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)

"""Calling one of the caller's handlers, which may be plain or async and may raise anything."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ...errors import HandlerFailed, PeerError


async def ask(method: str, handler: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a handler returns. ``method`` is what the server asked for.

    Raises `HandlerFailed` when the handler raises. A `PeerError` from it is passed on to the server
    with code and message; of any other exception the server learns only the type.
    """
    try:
        answer = handler(*arguments)
        return await answer if inspect.isawaitable(answer) else answer
    except HandlerFailed:
        raise
    except PeerError as error:
        raise HandlerFailed(method, error.message, error.code) from error
    except Exception as error:
        raise HandlerFailed(method, f"its handler raised {type(error).__name__}") from error

"""Calling a handler of the caller's: plain or async, and whatever it raises."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..errors import HandlerFailed, PeerError

__all__ = ["ask"]


async def ask(method: str, handler: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a handler returns.

    Raises `HandlerFailed` when it raises; a `PeerError` it raises says which error the server is
    to be told. Of any other exception the server learns only the type.
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

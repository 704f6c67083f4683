"""What a server may ask of the client, and who answers.

The same handlers serve both eras: requests of the server's own in the handshake era, and input
requests inside a result in the stateless one.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Callable, Union

from ..errors import PeerError
from ..jsonrpc.messages import ErrorCode

__all__ = ["Handler", "Handlers"]

Handler = Callable[[Mapping[str, Any]], Union[Mapping[str, Any], Awaitable[Mapping[str, Any]]]]
"""Takes the params of a request, returns its result; plain or async."""

# Which capability promises that a method is answered.
_CAPABILITY_OF = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}


class Handlers:
    """The handlers given, and the capabilities they amount to. ``ping`` is always answered."""

    def __init__(self, handlers: Mapping[str, Handler] | None = None) -> None:
        self._handlers = dict(handlers or {})

    @property
    def capabilities(self) -> dict[str, Any]:
        """What to declare: a capability for each handler given, and nothing else."""
        return {_CAPABILITY_OF[method]: {} for method in self._handlers}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result for a request of the server's.

        Raises `PeerError` with the code to answer: method not found, or internal error when the
        handler fails.
        """
        if method == "ping":
            return {}
        handler = self._handlers.get(method)
        if handler is None:
            raise PeerError(ErrorCode.METHOD_NOT_FOUND, f"Method not found: {method}")
        try:
            result = handler(params)
            if inspect.isawaitable(result):
                result = await result
        except PeerError:
            raise
        except Exception as error:
            raise PeerError(ErrorCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}") from error
        return result

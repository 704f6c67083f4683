"""The transport between a command and an open session."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from .. import __version__, errors
from ..errors import ConnectFailed, McpError, UsageError
from ..framing.uri import Url
from ..jsonrpc import messages
from ..jsonrpc.messages import ErrorCode, Message
from ..net.session_sockets import Place, check_private, session_names
from ..protocol.outgoing import Outgoing
from ..suggestions import did_you_mean, there_are
from ..transports.base import Receiver
from ..transports.line_socket import LineSocketTransport

_OPENERS = ("server/discover", "initialize")


class SessionTransport(LineSocketTransport):
    """Talks to a server through the session called ``name``.

    Opening requests are answered from the session's state, without a round trip to the server.
    """

    def __init__(self, name: str, environ: Mapping[str, str] | None = None) -> None:
        self._place = Place.of(name, os.environ if environ is None else environ)
        super().__init__(Url("unix", "", 0, self._place.link, None))
        self._state: Mapping[str, Any] = {}
        self._is_opened = False

    @property
    def description(self) -> str:
        """The name of the session."""
        return f"@{self._place.name}"

    async def open(self, receiver: Receiver) -> None:
        """Connect. Raises `UsageError` for a session that does not exist or has another version."""
        self._is_opened = False
        joined: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        check_private(self._place.folder)
        try:
            port, token = self._place.port()
            if port:
                self.url: Url = Url("tcp", "127.0.0.1", port, "", None)
            await super().open(_Intake(receiver, joined))
            params = {"version": __version__, "token": token}
            super().send(Outgoing(messages.request(0, "mcpclient/join", params)))
            self._state = await joined
        except (OSError, ValueError, ConnectFailed):
            raise self.missing() from None
        except BaseException:
            self.abort()
            raise
        found = self._state.get("version")
        if found != __version__ or "opening" not in self._state:
            await self.close()
            said = f"mcpclient {found} has opened {self.description}, and this is {__version__}"
            raise UsageError(said).advise(
                f"Close it with: mcpclient close {self.description}, and open it again."
            )
        self.name: str = str(self._state["transport"])
        self.carries_headers: bool = bool(self._state["carriesHeaders"])

    def missing(self) -> UsageError:
        """Return the error for a session that does not exist."""
        names = [f"@{name}" for name in session_names(os.environ)]
        hint = did_you_mean(self.description, names) or there_are(names)
        error = UsageError(f"there is no session {self.description}; {hint}")
        name = self._place.name
        return error.advise(f"Open it with: mcpclient open {name} -- COMMAND")

    def send(self, outgoing: Outgoing) -> None:
        """Send a message, or answer it here while the connection is being opened."""
        message = outgoing.message
        method, request_id = message.get("method"), message.get("id")
        if self._is_opened or method not in (*_OPENERS, "notifications/initialized"):
            super().send(outgoing)
        elif request_id is not None:
            fits = (method == "server/discover") == self._state["stateless"]
            answer = (
                messages.response(request_id, self._state["opening"])
                if fits
                else messages.error_response(request_id, ErrorCode.METHOD_NOT_FOUND, "not spoken")
            )
            self._is_opened = fits and method == "server/discover"
            asyncio.get_running_loop().call_soon(self.receiver.message_received, answer)
        else:
            self._is_opened = True


class _Intake:
    """The receiver of a session's messages; it handles two kinds itself."""

    def __init__(self, receiver: Receiver, joined: asyncio.Future[Mapping[str, Any]]) -> None:
        self._receiver = receiver
        self._joined = joined
        self.message_rejected = receiver.message_rejected
        self.output_skipped = receiver.output_skipped
        self.request_failed = receiver.request_failed
        self.channel_lost = receiver.channel_lost

    def message_received(self, message: Message) -> None:
        """Pass a message on, or the error that it carries."""
        if not self._joined.done():
            self._joined.set_result(message.get("result") or {})
        elif "failed" in message:
            self._receiver.request_failed(message.get("id"), unpacked(message["failed"]))
        elif "lost" in message:
            self._receiver.connection_lost(unpacked(message["lost"]))
        else:
            self._receiver.message_received(message)

    def connection_lost(self, error: McpError) -> None:
        """Pass the end on; a session that ends before its greeting counts as missing."""
        if not self._joined.done():
            self._joined.set_exception(ConnectFailed("session", str(error)))
        else:
            self._receiver.connection_lost(error)


def packed(error: McpError) -> str:
    """Serialise an error for `unpacked`."""
    return json.dumps([type(error).__name__, error.args, vars(error)], default=_plain)


def _plain(value: object) -> object:
    return {"bytes": value.decode("latin-1")} if isinstance(value, bytes) else str(value)


def _with_bytes(value: dict[str, Any]) -> Any:
    return value["bytes"].encode("latin-1") if list(value) == ["bytes"] else value


def unpacked(text: str) -> McpError:
    """Return the error that was raised in the process of the session."""
    name, arguments, fields = json.loads(text, object_hook=_with_bytes)
    kind = getattr(errors, name)
    error: McpError = kind.__new__(kind, *arguments)
    error.__dict__.update(fields)
    return error

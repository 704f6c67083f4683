"""Who is told what happens in a session: the library's observers and the caller's callbacks."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple

from ...errors import McpError, SessionExpired, safe_repr
from ...framing.logs import logger_for
from ...net.futures import BackgroundTasks
from ...protocol.types import LogMessage
from .callbacks import OrderedCallback
from .observer import Observer

_server_logger = logger_for("mcpclient.server")

LOG_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}


class Events(NamedTuple):
    """The caller's event callbacks; each may be a plain function or a coroutine function."""

    notification: Callable[[str, Mapping[str, Any]], Any] | None = None
    log: Callable[[LogMessage], Any] | None = None
    error: Callable[[McpError], Any] | None = None
    close: Callable[[McpError | None], Any] | None = None


class EventCallbacks:
    """The library's observers and the caller's event callbacks, as one session calls them."""

    def __init__(self, server: str, observers: Sequence[Observer]) -> None:
        self._server = server
        self._observers = observers
        self._notification: OrderedCallback | None = None
        self._log: OrderedCallback | None = None
        self._error: OrderedCallback | None = None
        self._close: OrderedCallback | None = None

    def wire(self, tasks: BackgroundTasks, events: Events) -> None:
        """Bind the callbacks to the tasks of the session, in which they run."""
        made = {
            name: OrderedCallback(function, tasks) if function is not None else None
            for name, function in events._asdict().items()
        }
        self._notification, self._log = made["notification"], made["log"]
        self._error, self._close = made["error"], made["close"]

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification; log messages also go to the standard `logging` tree."""
        for observer in list(self._observers):
            observer.notified(method, params)
        if method == "notifications/message":
            self._take_log(LogMessage(params))
        if self._notification is not None:
            self._notification(method, params)

    def _take_log(self, message: LogMessage) -> None:
        level = LOG_LEVELS.get(message.level, logging.INFO)
        if _server_logger.isEnabledFor(level):
            logger_name = f" {message.logger}" if message.logger else ""
            data = message.data if isinstance(message.data, str) else safe_repr(message.data, None)
            said = f"{logger_name}: {data}"
            _server_logger.log(level, "%s%s", self._server, said)
        if self._log is not None:
            self._log(message)

    def error(self, error: McpError) -> None:
        """Take a failure that belongs to no call."""
        if self._error is not None:
            self._error(error)

    def lost(self, error: McpError) -> None:
        """Take the end of the connection."""
        for observer in list(self._observers):
            observer.lost(error)
        if self._close is not None:
            self._close(error)

    def channel_lost(self, error: McpError) -> None:
        """Take the end of what the server says unasked."""
        for observer in list(self._observers):
            if isinstance(error, SessionExpired):
                observer.lost(error)
            else:
                observer.channel_lost(error)

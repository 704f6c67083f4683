"""The audit log: a line for each call and each start of a server, see `net.chained_log`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Union

from ...errors import (
    CallRefused,
    ConnectFailed,
    SandboxUnavailable,
    ServerUnavailable,
    UsageError,
)
from ...framing.logs import logger_for
from ...net.chained_log import ChainedLog, log_at
from ...net.clocks import steady_seconds
from ...protocol.types import CallToolResult
from ...recording.redaction import Redactor
from ...recording.secret_arguments import masked
from .around import Around, Call, Proceed, Refused, surrounded

try:
    import pwd
except ImportError:  # Windows
    pwd = None  # type: ignore[assignment]

_logger = logger_for("mcpclient.audit")

_LONGEST_REASON = 500
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
# Who refused a call, by the status of its server.
_BY_STATUS = {"denied": "policy", "needs_approval": "approval", "failing": "limits"}


@dataclass(frozen=True)
class AuditLog:
    """A file that gets a line for each call and each start of a server.

    ``path``: a file that only its user may read, shared by any number of processes; beyond
    ``max_size`` bytes it is renamed and another begun. ``required``: refuse calls and starts that
    cannot be written; they are written before they are made as well, with the outcome ``"sent"``.
    ``text``: write the arguments, secrets masked, and not only their digest.
    """

    path: str | os.PathLike[str]
    required: bool = False
    text: bool = False
    max_size: int = 64 * 1024 * 1024


AuditOption = Union[str, "os.PathLike[str]", AuditLog, Sequence[object], None]
"""The path of a log, an `AuditLog`, or several of them."""


def logs_of(option: object) -> tuple[AuditLog, ...]:
    """Return the logs that an option names, each once. Raises `UsageError`."""
    if option is None:
        return ()
    if isinstance(option, AuditLog):
        return (option,)
    if isinstance(option, (str, os.PathLike)):
        return (AuditLog(option),)
    if not isinstance(option, Sequence):
        raise UsageError(f"audit must be a path or an AuditLog, not {type(option).__name__}")
    return tuple(dict.fromkeys(log for each in option for log in logs_of(each)))


class Audit:
    """Writes the lines of one server. ``about``: facts that each of them has."""

    def __init__(self, option: AuditOption, server: str, **about: str) -> None:
        self._logs = [
            (log, log_at(os.path.abspath(os.path.expanduser(log.path)), log.max_size))
            for log in logs_of(option)
        ]
        self._server = server
        self._about = about
        self._failing: set[AuditLog] = set()

    async def call(
        self, call: Call, hooks: Sequence[Around], make: Proceed, schema: Any
    ) -> CallToolResult:
        """Make a call with hooks around it, and write its line.

        ``schema``: the input schema of the tool, where it marks arguments as secret.
        """
        line = self._of_call(call.method, call.name, call.arguments, schema)

        async def sent(changed: Call) -> CallToolResult:
            if changed is not call:
                line.update(self._of_call(call.method, changed.name, changed.arguments, schema))
            line.update(decision="allowed", by=changed.approved_by)
            self._announce(line)
            return await make(changed)

        with self._writing(line):
            result = await surrounded(hooks, sent)(call)
            if isinstance(result.raw, Refused):
                line.update(decision="refused", by=result.raw.by)
            if line["decision"] == "refused":
                line.update(outcome="refused", reason=_shown(result.text))
            elif result.is_error:
                line["outcome"] = "tool_error"
        return result

    @contextmanager
    def starting(self, target: str, reason: str, *, sandbox: bool) -> Iterator[None]:
        """Write the line of a start, which is the block. ``reason``: why it was allowed."""
        line = self._of_start(target)
        by = "policy" if reason else ""
        line.update(sandbox=sandbox, decision="allowed", by=by, reason=reason)
        with self._writing(line):
            self._announce(line)
            yield

    def refused_start(self, target: str, error: Exception) -> None:
        """Write the line of a server that was not started."""
        self._write({**self._of_start(target), **_of_error(error), "outcome": "refused"})

    def refused_call(self, method: str, name: str, arguments: Any, error: Exception) -> None:
        """Write the line of a call whose server cannot be reached."""
        line = self._of_call(method, name, arguments or {}, None)
        self._write({**line, **_of_error(error), "outcome": type(error).__name__})

    def _of_start(self, target: str) -> dict[str, Any]:
        return {"kind": "start", "server": self._server, "target": target, **self._about}

    def _of_call(
        self, method: str, name: str, arguments: Mapping[str, Any], schema: Any
    ) -> dict[str, Any]:
        line: dict[str, Any] = {"kind": "call", "server": self._server, **self._about}
        name = _shown(name) if ":" in name else name  # a URI may hold a secret
        line.update(method=method, name=name, decision="refused", by="hook", reason="")
        try:
            shown = masked(dict(arguments), schema, schema, lambda secret: "…")
            line["arguments_sha256"] = _digest(shown)
            if any(log.text for log, _ in self._logs):
                line["arguments"] = Redactor().message(shown)
        except (TypeError, ValueError, RecursionError):  # they cannot be sent either
            line["arguments_sha256"] = ""
        return line

    @contextmanager
    def _writing(self, line: dict[str, Any]) -> Iterator[None]:
        began = steady_seconds()
        line["outcome"] = "ok"
        try:
            yield
        except BaseException as error:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            line["outcome"] = "cancelled" if is_cancelled else type(error).__name__
            line.update(_of_error(error, line["decision"], line["by"]))
            raise
        finally:
            line["milliseconds"] = round((steady_seconds() - began) * 1000, 3)
            self._write(line)

    def _announce(self, line: dict[str, Any]) -> None:
        """Write a line before its call or start is made, where that is required, or refuse it."""
        for log, file in self._logs:
            if not log.required:
                continue
            try:
                _append(log, file, {**line, "outcome": "sent"})
            except Exception as error:
                line.update(decision="refused", by="audit")
                cause = getattr(error, "strerror", None) or error
                reason = f"the audit log {log.path} cannot be written: {cause}"
                if line["kind"] == "start":
                    raise ConnectFailed(self._server, reason) from None
                raise CallRefused(line["method"], line["name"], reason) from None

    def _write(self, line: Mapping[str, Any]) -> None:
        for log, file in self._logs:
            try:
                _append(log, file, line)
                self._failing.discard(log)
            except Exception as error:  # which must not replace the outcome of the call
                if log not in self._failing:
                    self._failing.add(log)
                    _logger.error("the audit log %s cannot be written: %s", log.path, error)


def _digest(arguments: Mapping[str, Any]) -> str:
    return hashlib.sha256(_encode(arguments).encode("utf-8", "surrogatepass")).hexdigest()


def _append(log: AuditLog, file: ChainedLog, line: Mapping[str, Any]) -> None:
    user, host = _user_and_host()
    record = {"user": user, "host": host, "process": os.getpid(), **line}
    if not log.text:
        record.pop("arguments", None)
    file.append(record)


def _of_error(
    error: BaseException, decision: str = "refused", by: str = "connection"
) -> dict[str, str]:
    """Return the decision that an error shows, and its reason."""
    if isinstance(error, ServerUnavailable):
        decision, by = "refused", _BY_STATUS.get(error.status, "connection")
    elif (
        isinstance(error, CallRefused) and by != "audit"
    ):  # of a prompt or a resource, by `Connection.guard`
        decision, by = "refused", "pin"
    elif isinstance(error, SandboxUnavailable):
        decision, by = "refused", "sandbox"
    return {"decision": decision, "by": by, "reason": _shown(str(error))}


def _shown(reason: str) -> str:
    return Redactor().text(reason)[:_LONGEST_REASON]


@lru_cache(maxsize=1)
def _user_and_host() -> tuple[str, str]:
    try:
        user = os.getlogin() if pwd is None else pwd.getpwuid(os.getuid()).pw_name
    except (OSError, KeyError):  # it has a number only
        user = str(os.getuid()) if hasattr(os, "getuid") else ""
    return user, platform.node()

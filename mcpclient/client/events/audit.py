"""The audit log: a line for each call and each start of a server, see `net.chained_log`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Callable, Union

from ...errors import CallRefused, ConnectFailed, SandboxUnavailable, ServerUnavailable, UsageError
from ...framing.logs import logger_for
from ...jsonrpc.codec import json_encoder
from ...net.chained_log import ChainedLog, log_at
from ...net.clocks import steady_seconds
from ...net.paths import absolute_path, with_home
from ...protocol.types import CallToolResult
from ...recording.redaction import Redactor
from ...recording.secret_arguments import shown_arguments
from .around import Around, Call, Proceed, Refused, surrounded

try:
    import pwd
except ImportError:  # Windows
    pwd = None  # type: ignore[assignment]

_logger = logger_for("mcpclient.audit")

_LONGEST_REASON = 500
_encode = json_encoder(sort_keys=True)
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
    """Writes the lines of one server. ``account``: the one that is logged in."""

    def __init__(self, option: AuditOption, server: str, account: str = "") -> None:
        self._logs = [
            (log, log_at(absolute_path(with_home(os.fspath(log.path))), log.max_size))
            for log in logs_of(option)
        ]
        self._required = [each for each in self._logs if each[0].required]
        self._shows_text = any(log.text for log, _ in self._logs)
        self._server = server
        self._about = {"user": _user(), "host": platform.node(), "account": account}
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

        with _Writing(line, self._write):
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
        line = self._line("start", target=target, sandbox=sandbox)
        line.update(decision="allowed", by="policy" if reason else "", reason=reason)
        with _Writing(line, self._write):
            self._announce(line)
            yield

    def refused(
        self, error: Exception, method: str = "", name: str = "", arguments: Any = None
    ) -> None:
        """Write the line of a call whose server cannot be reached, or of a refused start."""
        if method:
            line = self._of_call(method, name, arguments or {}, None)
            line["outcome"] = type(error).__name__
        else:
            line = self._line("start", target="", outcome="refused")
        self._write({**line, **_of_error(error)})

    def _line(self, kind: str, **facts: object) -> dict[str, Any]:
        process = os.getpid()
        return {**self._about, "process": process, "kind": kind, "server": self._server, **facts}

    def _of_call(
        self, method: str, name: str, arguments: Mapping[str, Any], schema: Any
    ) -> dict[str, Any]:
        name = _shown(name) if ":" in name else name  # a URI may hold a secret
        line = self._line("call", method=method, name=name, decision="refused", by="hook")
        line["reason"] = line["arguments_sha256"] = ""
        with suppress(TypeError, ValueError, RecursionError):  # they cannot be sent either
            shown = shown_arguments(arguments, schema)
            encoded = _encode(shown).encode("utf-8", "surrogatepass")
            line["arguments_sha256"] = hashlib.sha256(encoded).hexdigest()
            if self._shows_text:
                line["arguments"] = Redactor().message(shown)
        return line

    def _announce(self, line: dict[str, Any]) -> None:
        """Write a line before its call or start is made, where that is required, or refuse it."""
        sent = {**line, "outcome": "sent"} if self._required else {}
        for log, error in self._append(sent, self._required):
            line.update(decision="refused", by="audit")
            cause = getattr(error, "strerror", None) or error
            reason = f"the audit log {log.path} cannot be written: {cause}"
            if line["kind"] == "start":
                raise ConnectFailed(self._server, reason) from None
            raise CallRefused(line["method"], line["name"], reason) from None

    def _write(self, line: Mapping[str, Any]) -> None:
        for log, error in self._append(line, self._logs):
            if log not in self._failing:
                self._failing.add(log)
                _logger.error("the audit log %s cannot be written: %s", log.path, error)

    def _append(
        self, line: Mapping[str, Any], logs: Sequence[tuple[AuditLog, ChainedLog]]
    ) -> Iterator[tuple[AuditLog, Exception]]:
        """Append a line to these logs; yield those that fail."""
        digest = line
        if "arguments" in line:
            digest = {name: value for name, value in line.items() if name != "arguments"}
        for log, file in logs:
            try:
                file.append(line if log.text else digest)
                if self._failing:
                    self._failing.discard(log)
            except Exception as error:  # it must not replace the outcome of the call
                yield log, error


class _Writing:
    """Writes a line after its block, of which it has the outcome and the duration."""

    def __init__(self, line: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
        self._line, self._write = line, write

    def __enter__(self) -> None:
        self._line["outcome"] = "ok"
        self._began = steady_seconds()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        line = self._line
        if error is not None:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            line["outcome"] = "cancelled" if is_cancelled else type(error).__name__
            line.update(_of_error(error, line["decision"], line["by"]))
        line["milliseconds"] = round((steady_seconds() - self._began) * 1000, 3)
        self._write(line)


def _of_error(
    error: BaseException, decision: str = "refused", by: str = "connection"
) -> dict[str, str]:
    if isinstance(error, ServerUnavailable):
        decision, by = "refused", _BY_STATUS.get(error.status, "connection")
    elif isinstance(error, CallRefused) and by != "audit":  # by `Wiring.guard`
        decision, by = "refused", "pin"
    elif isinstance(error, SandboxUnavailable):
        decision, by = "refused", "sandbox"
    return {"decision": decision, "by": by, "reason": _shown(str(error))}


def _shown(reason: str) -> str:
    return Redactor().text(reason)[:_LONGEST_REASON]


def _user() -> str:
    try:
        return os.getlogin() if pwd is None else pwd.getpwuid(os.getuid()).pw_name
    except (OSError, KeyError):  # it has a number only
        return str(os.getuid()) if hasattr(os, "getuid") else ""

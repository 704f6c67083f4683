"""Errors of the network or the operating system: no answer came."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from ..display import shown_command, shown_words
from .root import McpError, safe_repr


class NetworkError(McpError):
    """No answer came: the network failed, the operating system refused, or time ran out."""


class ConnectKind(str, Enum):
    """The reason why no connection was made (`ConnectFailed.kind`)."""

    OTHER = "other"
    WORKING_DIRECTORY = "working_directory"
    # A command, of `CommandNotFound`
    COMMAND_MISSING = "command_missing"
    SCRIPT_MISSING = "script_missing"
    IS_A_DIRECTORY = "is_a_directory"
    NOT_EXECUTABLE = "not_executable"
    NO_INTERPRETER = "no_interpreter"
    INTERPRETER_MISSING = "interpreter_missing"
    CRLF_INTERPRETER = "crlf_interpreter"
    # The way to a remote server
    UNKNOWN_HOST = "unknown_host"
    REFUSED = "refused"
    PROXY = "proxy"
    PROXY_CREDENTIALS = "proxy_credentials"
    PROXY_NEGOTIATE = "proxy_negotiate"
    PROXY_LOGIN = "proxy_login"
    NOT_TLS = "not_tls"
    TLS = "tls"
    CERTIFICATE = "certificate"
    SELF_SIGNED = "self_signed"
    UNKNOWN_AUTHORITY = "unknown_authority"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    OTHER_HOST = "other_host"
    CLIENT_CERTIFICATE = "client_certificate"
    # What answered
    CLOSED_EARLY = "closed_early"
    NOT_AN_ENDPOINT = "not_an_endpoint"


class ConnectFailed(NetworkError):
    """No connection could be established.

    Fields: ``target`` (what was connected to), ``reason``, ``kind`` (of the reason), and
    ``attempts``: the exceptions of every way that was tried, in order.
    """

    def __init__(
        self,
        target: str,
        reason: str,
        attempts: Sequence[BaseException] = (),
        kind: ConnectKind = ConnectKind.OTHER,
    ) -> None:
        self.kind = kind
        self.target = target
        self.reason = reason
        self.attempts: tuple[BaseException, ...] = tuple(attempts)

    def __str__(self) -> str:
        return f"cannot connect to {self.target}: {self.reason}"


class CommandNotFound(ConnectFailed):
    """The server's command does not exist, or is not executable.

    Fields: ``command`` (its words, each argument that may be secret as ``…``), ``kind`` and
    ``search_path`` (the PATH that was searched).
    """

    def __init__(
        self,
        command: Sequence[str],
        reason: str,
        search_path: str,
        kind: ConnectKind = ConnectKind.COMMAND_MISSING,
    ) -> None:
        self.command: list[str] = shown_words(command)
        super().__init__(self.command[0], reason, kind=kind)
        self.args: tuple[Any, ...] = (self.command, reason, search_path)
        self.search_path = search_path

    def __str__(self) -> str:
        name = self.command[0]
        searched = self.search_path and not ("/" in name or "\\" in name)  # a path is not
        where = f"; PATH searched: {self.search_path}" if searched else ""
        return f"cannot start {name!r}: {self.reason}{where}"


class ServersFailed(ConnectFailed):
    """Servers that a manager requires are not connected.

    Field: ``failures``, by name of the server: the exception, or a `ServerUnavailable`.
    """

    def __init__(self, failures: Mapping[str, McpError]) -> None:
        names = ", ".join(failures)
        texts = "; ".join(f"{name}: {error}" for name, error in failures.items())
        super().__init__(names, texts, tuple(failures.values()))
        self.failures: dict[str, McpError] = dict(failures)

    def __str__(self) -> str:
        return f"required servers are not connected: {self.reason}"


class LossKind(str, Enum):
    """The way a connection ended (`ConnectionLost.kind`)."""

    OTHER = "other"
    DROPPED = "dropped"
    NO_RESPONSE = "no_response"
    CLIENT_CERTIFICATE = "client_certificate"
    LOOP_ENDED = "loop_ended"


class ConnectionLost(NetworkError):
    """An established connection ended before the answer came.

    Fields: ``reason`` and ``kind``. The call may or may not have run on the server.
    """

    def __init__(self, reason: str, kind: LossKind = LossKind.OTHER) -> None:
        self.reason = reason
        self.kind = kind

    def __str__(self) -> str:
        return self.reason


class ProcessExited(ConnectionLost):
    """The server process ended.

    Fields: ``command`` (its words, each argument that may be secret as ``…``), ``exit_code``
    (negative: the signal that ended it; None: it closed its output but has not ended), ``stderr``
    (the last 4 KiB it wrote there), ``output`` (the last lines on its stdout that are not
    messages) and ``lacks_stdin``: a container was started without its stdin.
    """

    def __init__(
        self, command: Sequence[str], exit_code: int | None, stderr: str, output: str = ""
    ) -> None:
        super().__init__("")
        self.command: list[str] = shown_words(command)
        self.args: tuple[Any, ...] = (self.command, exit_code, stderr, output)
        self.exit_code = exit_code
        self.stderr = stderr
        self.output = output
        self.lacks_stdin: bool = lacks_stdin(command)
        self.reason: str = self._describe()

    def _describe(self) -> str:
        name = shown_command(self.command)
        if self.exit_code is None:
            text = f"the server closed its output: {name}"
        elif self.exit_code < 0:
            text = f"the server was killed by signal {-self.exit_code}: {name}"
        else:
            killed = f" (killed by signal {self.signal})" if self.signal else ""
            text = f"the server exited with code {self.exit_code}{killed}: {name}"
        return text + _with_output(self.output, self.stderr)

    @property
    def signal(self) -> int:
        """The signal that ended it, in a container or a shell as well (code 128 + n); or 0."""
        code = self.exit_code or 0
        return -code if code < 0 else code - 128 if 128 < code < 128 + 32 else 0


class CallTimeout(NetworkError):
    """No answer in time. The server has been told to stop; a late answer is ignored.

    Fields: ``method``, ``seconds`` (the limit that was reached) and ``limit``: ``"idle"`` when
    the server was silent for that long, ``"total"`` when the whole call took that long,
    ``"connect"`` when there was no connection after that long; ``method`` then names the missing
    step. ``waiting_for``: the last obstacle, where that was not the server, otherwise None.
    ``target``: the server, and ``subject``: the tool, prompt or URI of the call. ``stray_ids``: the
    unknown request ids in the server's first responses. Without a connection, ``output`` has the
    last lines on the server's stdout that are not messages, ``stderr`` the end of its stderr,
    ``lacks_stdin`` is as in `ProcessExited`, and ``reached`` says how far a remote server was
    reached: ``"nothing"``, ``"tcp"`` or ``"connected"``.
    """

    def __init__(
        self, method: str, seconds: float, limit: str = "idle", waiting_for: str | None = None
    ) -> None:
        self.method = method
        self.seconds = seconds
        self.limit = limit
        self.waiting_for = waiting_for
        self.target = self.subject = self.output = self.stderr = ""
        self.stray_ids: tuple[object, ...] = ()
        self.lacks_stdin = False
        self.reached = ""

    def __str__(self) -> str:
        if self.limit == "connect":
            waited = self.waiting_for or (self.method if self.target else None)
            text = f"{self.target or self.method}: not connected within {self.seconds:g} s"
            option = "connect_timeout"
        else:
            waited = self.waiting_for
            subject = f" {self.subject!r}" if self.subject else ""
            server = f" of {self.target}" if self.target else ""
            text = f"{self.method}{subject}{server}: no answer within {self.seconds:g} s"
            option = "timeout" if self.limit == "idle" else "max_timeout"
        reason = "" if waited is None else f", waiting for {waited}"
        if self.stray_ids:
            ids = ", ".join(map(safe_repr, self.stray_ids))
            reason += f"; it sent a response to an unknown request id: {ids}"
        return f"{text} ({option}){reason}{_with_output(self.output, self.stderr)}"


_STDOUT_HEADING = "\nits stdout is not JSON-RPC:\n"
_STDERR_HEADING = "\nlast stderr output:\n"


def _with_output(output: str, stderr: str) -> str:
    """Return the end of a message: the output of a server that is not JSON-RPC, and its stderr."""
    text = _STDOUT_HEADING + output.strip() if output.strip() else ""
    return text + _STDERR_HEADING + stderr.strip() if stderr.strip() else text


def text_without_output(error: McpError) -> str:
    """Return the message of an error without the output of a server process.

    That output is for the user only: it may hold tokens and paths that the process has seen.
    """
    return str(error).partition(_STDOUT_HEADING)[0].partition(_STDERR_HEADING)[0]


def lacks_stdin(command: Sequence[str]) -> bool:
    """Whether a command runs a container and leaves its stdin closed: no ``-i``."""
    program = re.split(r"[/\\]", command[0])[-1].lower() if command else ""
    if program.partition(".")[0] not in ("docker", "podman", "nerdctl") or "run" not in command:
        return False
    words = list(command)[list(command).index("run") + 1 :]
    return not any(re.match(r"--interactive(?:=true)?$|-[a-zA-Z]*i[a-zA-Z]*$", w) for w in words)

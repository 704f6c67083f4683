"""What is wrong with a server, found in order: which check an error fails, and what to do then.

The same knowledge serves ``mcpclient doctor`` and every command that fails.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import (
    AuthError,
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    ConnectKind,
    HttpError,
    LossKind,
    McpError,
    ProcessExited,
    ProtocolViolation,
    UsageError,
    ViolationKind,
)
from ..framing.uri import Url

Status = Literal["ok", "warning", "failed", "skipped"]

CHECKS = (
    "config",
    "command",
    "dns",
    "tcp",
    "tls",
    "proxy",
    "http",
    "path",
    "era",
    "auth",
    "tools",
    "schemas",
    "sandbox",
)
"""The checks in their order: none makes sense before those in front of it are passed."""


@dataclass(frozen=True)
class Check:
    """One check: what was found, and what to do about it."""

    name: str
    status: Status
    found: str = ""
    hint: str = ""

    @property
    def raw(self) -> dict[str, str]:
        """The check as JSON has it."""
        said = {"found": self.found, "hint": self.hint, "cure": self.hint}
        return {"name": self.name, "status": self.status, **said}


_CHECK_OF_KIND: dict[str, str] = {
    ConnectKind.WORKING_DIRECTORY: "config",
    ConnectKind.NOT_AN_ENDPOINT: "path",
    ConnectKind.PROXY: "proxy",
    ConnectKind.PROXY_CREDENTIALS: "proxy",
    ConnectKind.PROXY_NEGOTIATE: "proxy",
    ConnectKind.UNKNOWN_HOST: "dns",
    ConnectKind.CLOSED_EARLY: "http",
    **dict.fromkeys((ConnectKind.NOT_TLS, ConnectKind.TLS, ConnectKind.CLIENT_CERTIFICATE), "tls"),
    **dict.fromkeys((ConnectKind.CERTIFICATE, ConnectKind.SELF_SIGNED), "tls"),
    **dict.fromkeys((ConnectKind.UNKNOWN_AUTHORITY, ConnectKind.OTHER_HOST), "tls"),
    **dict.fromkeys((ConnectKind.EXPIRED, ConnectKind.NOT_YET_VALID), "tls"),
    LossKind.DROPPED: "http",
    LossKind.NO_RESPONSE: "path",
    ViolationKind.NOT_HTTP: "http",
    ViolationKind.PAGE: "path",
    ViolationKind.NOT_JSON: "path",
}


def check_of(error: McpError) -> str:
    """Return the name of the check that fails with an error which came while connecting."""
    if isinstance(error, (CommandNotFound, ProcessExited)):
        return "command"
    if isinstance(error, (ConnectFailed, ConnectionLost, ProtocolViolation)):
        otherwise = "tcp" if isinstance(error, ConnectFailed) else "era"
        return _CHECK_OF_KIND.get(error.kind, otherwise)
    if isinstance(error, HttpError):
        return _check_of_status(error.status)
    if isinstance(error, CallTimeout) and error.reached in _NEXT_CHECK:
        return _NEXT_CHECK[error.reached]
    kinds = ((UsageError, "config"), (AuthError, "auth"))
    return next((name for kind, name in kinds if isinstance(error, kind)), "era")


# Of a connection attempt that took too long: what comes after the last that was seen.
_NEXT_CHECK = {"nothing": "tcp", "tcp": "tls", "connected": "http"}


def _check_of_status(status: int) -> str:
    if status in (401, 403):
        return "auth"
    if status == 407:
        return "proxy"
    return "http" if status == 429 or status >= 500 else "path"


def checks_for(url: Url | None, *, through_proxy: bool) -> set[str]:
    """Return the checks that mean something for a server; ``url`` is None for a command."""
    names = {"config", "era", "tools", "schemas"}
    if url is None:
        return names | {"command"}
    is_http = url.scheme in ("http", "https", "ws", "wss")
    return names | {
        name
        for name, has_it in (
            ("dns", url.scheme != "unix" and not through_proxy and not _is_address(url.host)),
            ("tcp", True),
            ("tls", url.secure),
            ("proxy", through_proxy),
            ("http", is_http),
            ("path", is_http),
        )
        if has_it
    }


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def report_of(found: Sequence[Check], relevant: Container[str] = ()) -> list[Check]:
    """Return all checks in their order: those that were made, and the rest as skipped or passed.

    A check is passed where it is ``relevant`` for the server, and a later stage was reached.
    """
    made = {check.name: check for check in found}
    failed = next((n for n in CHECKS if n in made and made[n].status == "failed"), CHECKS[-1])
    # A server that asks for a login, or a proxy that refuses, says nothing about the path or host.
    reached = CHECKS.index({"auth": "path", "proxy": "dns"}.get(failed, failed))
    return [
        made.get(name)
        or Check(name, "ok" if name in relevant and CHECKS.index(name) < reached else "skipped")
        for name in CHECKS
    ]


def raw_report(target: str, checks: Sequence[Check]) -> dict[str, Any]:
    """Return a report as JSON has it."""
    return {"target": target, "checks": [check.raw for check in checks]}

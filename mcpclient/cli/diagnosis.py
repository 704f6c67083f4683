"""What is wrong with a server, found in order: which check an error fails, and what to do then.

The same knowledge serves ``mcpclient doctor`` and every command that fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..cures import cure_for
from ..errors import (
    AuthError,
    AuthorizationRequired,
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    HttpError,
    McpError,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    RegistrationRequired,
    UsageError,
)
from ..jsonrpc.messages import ErrorCode

__all__ = ["CHECKS", "Check", "Status", "check_of", "cure_of", "raw_report", "report_of"]

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
)
"""The checks in their order: none makes sense before those in front of it are passed."""

_LOCAL_ONLY = ("command",)
_REMOTE_ONLY = ("dns", "tcp", "tls", "proxy", "http", "path", "auth")
_TOKEN = "--bearer TOKEN"
_LOGIN = "mcpclient auth login URL"

# How the options of the library are spelled on the command line.
_OPTION = re.compile(
    r"\b(ca_file|proxy|env|cwd|trace|max_timeout|connect_timeout|timeout|headers|auth)=(?=[\s,.:]|$)"
)
_SPELLED = {"connect_timeout": "timeout", "headers": "header", "auth": "bearer"}
_OTHERWISE = ((", or let retry_busy=True do that", ""), ("verify=False", "--insecure"))


@dataclass(frozen=True)
class Check:
    """One check: what was found, and what to do about it."""

    name: str
    status: Status
    found: str = ""
    cure: str = ""

    @property
    def raw(self) -> dict[str, str]:
        """The check as JSON has it."""
        return {"name": self.name, "status": self.status, "found": self.found, "cure": self.cure}


def check_of(error: McpError) -> str:
    """Return the name of the check that fails with an error which came while connecting."""
    if isinstance(error, ConnectFailed) and not isinstance(error, CommandNotFound):
        return _check_of_connecting(error.reason)
    if isinstance(error, HttpError):
        return _check_of_status(error.status)
    if isinstance(error, ProtocolViolation) and "MCP endpoint" in error.reason:
        return "path"
    for kind, name in (
        (UsageError, "config"),
        ((CommandNotFound, ProcessExited), "command"),
        (AuthError, "auth"),
    ):
        if isinstance(error, kind):
            return name
    return "era"


def _check_of_connecting(reason: str) -> str:
    for part, name in (
        ("working directory", "config"),
        ("not an MCP endpoint", "path"),
        ("proxy", "proxy"),
        ("cannot be resolved", "dns"),
        ("certificate", "tls"),
        ("TLS", "tls"),
    ):
        if part in reason:
            return name
    return "tcp"


def _check_of_status(status: int) -> str:
    if status in (401, 403):
        return "auth"
    if status == 407:
        return "proxy"
    return "http" if status == 429 or status >= 500 else "path"


def report_of(found: Sequence[Check], *, is_local: bool) -> list[Check]:
    """Return all checks in their order: those that were made, and the rest as skipped or passed.

    Those in front of the first one that failed are passed, as far as they concern the server.
    """
    made = {check.name: check for check in found}
    failed = next((n for n in CHECKS if n in made and made[n].status == "failed"), CHECKS[-1])
    return [made.get(name) or _implied(name, failed, is_local=is_local) for name in CHECKS]


def _implied(name: str, failed: str, *, is_local: bool) -> Check:
    is_foreign = name in (_REMOTE_ONLY if is_local else _LOCAL_ONLY)
    if is_foreign or CHECKS.index(name) > CHECKS.index(failed) or name in ("proxy", "auth"):
        return Check(name, "skipped")
    return Check(name, "ok")


def cure_of(error: McpError) -> str:
    """Return what to do about an error on the command line; empty where its text says it."""
    if error.cure != cure_for(error):  # somebody knew better than any table
        return error.cure
    special = next(_special_cures(error), None)
    if special is not None:
        return special
    return "" if type(error) is UsageError else _as_options(error.cure)


def _special_cures(error: McpError) -> Iterator[str]:
    if isinstance(error, RegistrationRequired):
        yield f"{error.cure} Or give a token of your own: {_TOKEN}"
    if isinstance(error, AuthorizationRequired):
        yield f"Log in with: {_LOGIN}"
    if isinstance(error, HttpError) and error.status == 401:
        if "invalid_token" in "".join(error.authenticate):
            yield f"The token was refused: log in with: {_LOGIN}, or give another: {_TOKEN}"
        yield f"Log in with: {_LOGIN}, or give a token: {_TOKEN}"
    if isinstance(error, HttpError) and error.status == 403:
        yield f"Log in with another account, or give a token that may do this: {_TOKEN}"
    supported = _supported_by(error)
    if supported:
        yield f"Update one of the two: the server speaks only {', '.join(map(str, supported))}"
    if isinstance(error, PeerError) and error.code == ErrorCode.METHOD_NOT_FOUND:
        yield "See what the server offers with: mcpclient info"
    if isinstance(error, CommandNotFound) and "one item for each word" in error.cure:
        yield "Write the words of the command apart, without quotes around all of them."
    if isinstance(error, ConnectFailed) and "not an MCP endpoint" in error.reason:
        yield from (cure_of(each) for each in error.attempts[:1] if isinstance(each, HttpError))
    if isinstance(error, CallTimeout) and error.limit != "connect" and not error.stray_ids:
        yield "Raise --timeout or --max-timeout if the server needs longer."


def _supported_by(error: McpError) -> list[Any]:
    """Return the revisions that a server names which speaks none of ours."""
    data = error.data if isinstance(error, PeerError) else None
    supported = data.get("supported") if isinstance(data, dict) else None
    return supported if isinstance(supported, list) else []


def _as_options(cure: str) -> str:
    def spelled(found: re.Match[str]) -> str:
        name = _SPELLED.get(found[1], found[1])
        return "--" + name.replace("_", "-")

    for option, other in _OTHERWISE:
        cure = cure.replace(option, other)
    return _OPTION.sub(spelled, cure)


def raw_report(target: str, checks: Sequence[Check]) -> dict[str, Any]:
    """Return a report as JSON has it."""
    return {"target": target, "checks": [check.raw for check in checks]}

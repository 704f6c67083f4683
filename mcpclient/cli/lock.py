"""``mcpclient lock``: write down the tools of the configured servers, or compare them with that."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import ConnectFailed, McpError, UsageError
from ..framing.escaping import escape
from ..hints import SHELL, hint_for
from ..manager.manager import Manager
from ..manager.pins import Pins, ServerOffer
from ..manager.server import Server
from ..suggestions import there_is_no
from .command import Answer, LocalCommand, LocalWork
from .configured import load, none_configured
from .exit_codes import FAILED
from .render import one_line
from .screen import Screen

_FILE = "mcp.lock"
_SKIPPED = ("disabled", "denied")
_AGAIN = "look at it, and if it is meant: mcpclient lock"
_GONE = "configure it again, or delete its entry from the lock file"


def _prepare(options: argparse.Namespace) -> LocalWork:
    config = load(options.config)
    for name in options.words:
        if name not in config.servers:
            raise UsageError(there_is_no("server", name, config.servers, "in the configuration"))
    chosen = {
        name: server
        for name, server in config.servers.items()
        if (name in options.words if options.words else server.state not in _SKIPPED)
    }
    pins = Pins(options.file)
    if options.check and not pins.servers:
        raise UsageError(f"there is no lock file {options.file}").advise(
            "Make one with mcpclient lock, look at it, and commit it."
        )
    locked = options.words or pins.servers
    gone = [name for name in pins.servers if name in locked and name not in config.servers]
    if not chosen and not (options.check and gone):
        raise none_configured(config, "no server is configured, so there is nothing to lock")

    async def work(screen: Screen) -> Answer:
        async with screen.status, Manager(chosen, reconnect=None, stderr="discard") as manager:
            servers = manager.servers
            offers = {name: each.to_pin() for name, each in servers.items() if each.is_connected}
            down = {name: _error_of(servers[name]) for name in chosen if name not in offers}
        if options.check:
            found = [
                _Finding(name, "gone", "is locked, but not configured", _GONE) for name in gone
            ]
            return _answer([*found, *_compared(pins, offers, down)], options.file)
        if down and not offers:
            raise next(iter(down.values()))
        try:
            pins.write(offers)
        except OSError as error:
            raise UsageError(f"cannot write {options.file}: {error.strerror or error}") from None
        counts = {name: len(pins.servers[name].tools) for name in offers}
        lines = [f"locked {count} tools of {one_line(name)}" for name, count in counts.items()]
        lines += [_unreachable(name, error).shown for name, error in down.items()]
        raw = {"locked": counts, "not_locked": list(down), "file": options.file}
        return Answer(raw, "\n".join(lines), exit_code=FAILED if down else 0)

    return work


class _Finding(NamedTuple):
    """One thing about one server that is not as it was locked, and what to do about it."""

    server: str
    kind: str
    message: str
    hint: str
    tool: str = ""
    difference: str = ""

    @property
    def shown(self) -> str:
        return escape(f"{self.server}: {self.message} ({self.hint})")


def _error_of(server: Server) -> McpError:
    """Return why a server is not connected: what it offers cannot be known."""
    if isinstance(server.error, McpError):
        return server.error
    reason = str(server.error or server.config.reason or server.status)
    return ConnectFailed(server.name, reason)


def _unreachable(name: str, error: McpError) -> _Finding:
    hint = hint_for(error, SHELL) or "connect it, and try again"
    return _Finding(name, "unreachable", f"its tools are not known: {error}", hint)


def _compared(
    pins: Pins, offers: Mapping[str, ServerOffer], down: Mapping[str, McpError]
) -> Iterator[_Finding]:
    """Yield all differences from the lock, one for a server that is not known, or not there."""
    for name, offer in offers.items():
        if not pins.knows(name):
            yield _Finding(name, "added", "is not in the lock file", f"{_AGAIN} {name}")
            continue
        for each in pins.compare(name, *offer):
            message = str(each).partition("\n")[0]
            again = _AGAIN if each.kind != "duplicate" else each.hint
            yield _Finding(name, each.kind, message, again, each.tool, each.difference)
    for name, error in down.items():
        yield _unreachable(name, error)


def _answer(found: Sequence[_Finding], file: str) -> Answer:
    servers: dict[str, list[dict[str, str]]] = {}
    for each in found:
        fields = {"tool": each.tool, "kind": each.kind, "difference": each.difference}
        servers.setdefault(each.server, []).append({**fields, "message": each.message})
    lines = [
        f"{each.shown}\n{escape(each.difference)}" if each.difference else each.shown
        for each in found
    ]
    text = "\n".join(lines) or "everything is as it was locked"
    return Answer({"servers": servers, "file": file}, text, exit_code=FAILED if lines else 0)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="only compare; exit code 1 when something differs"
    )
    parser.add_argument("--file", default=_FILE, metavar="FILE", help=f"the lock file ({_FILE})")
    parser.add_argument("--config", metavar="FILE", help="the servers of this file only")


COMMAND = LocalCommand(
    "lock",
    _prepare,
    usage="[--check] [--config FILE] [NAME ...]",
    add_options=_add_options,
    details=(
        "The lock file holds the names, texts, schemas and annotations of all tools, and the "
        "instructions. Commit it: a tool that says something else later, as in a rug pull, shows "
        "in lock --check, and a manager with mcpclient.Pins refuses it."
    ),
)

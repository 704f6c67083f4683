"""The configured servers: shown, searched, and their tools locked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..config.config import Config, ServerConfig
from ..config.scopes import discover_configs
from ..errors import ConnectFailed, McpError, ServerUnavailable, UsageError
from ..framing.escaping import escape
from ..manager.manager import Manager
from ..manager.pins import Pins, ServerOffer
from ..manager.server import Server
from ..protocol.tool_search import search_tools
from ..protocol.types import Prompt, Resource, Tool
from ..suggestions import there_is_no
from .command import Answer, LocalCommand, flag, number, option, seconds
from .commands import FAILED, USAGE
from .configured import doctored, load, none_configured, shown_target
from .connecting import REFUSING
from .layout import Style, counted, listing, one_line, table
from .render import writing
from .running import in_short, text_and_hint
from .screen import Screen

_CONNECT_SECONDS = 30.0
_CONFIG = option("--config", "FILE", "the servers of this file only")


@LocalCommand(
    "servers",
    usage="[--config FILE] [--no-connect]",
    options=(
        _CONFIG,
        seconds("--timeout", "longest time for connecting (30)", _CONNECT_SECONDS),
        flag("--no-connect", "only list the configuration; start nothing"),
        flag("--found", "list the servers of other applications, as NAME@application"),
    ),
    details="A server of another application, such as NAME@cursor, is used by that name after you "
    "have agreed to it. Servers of a project's file are connected only after you have agreed to "
    "them, with mcpclient approve NAME or by using one on a terminal. Problems in the files are "
    "reported on stderr.",
)
async def _servers(screen: Screen, options: argparse.Namespace) -> Answer:
    if options.found:
        return _list_found(screen)
    config = load(options.config, say=screen.say)
    if options.no_connect:
        return _answer_servers(config, {}, screen.style, options.config)
    servers = config.servers
    async with screen.status, _manager(servers, connect_timeout=options.timeout) as manager:
        found = {name: _status(server) for name, server in manager.servers.items()}
    return _answer_servers(config, found, screen.style, options.config)


def _manager(servers: Config | Mapping[str, ServerConfig], **options: Any) -> Manager:
    return Manager(servers, reconnect=None, stderr="discard", **REFUSING, **options)


def _list_found(screen: Screen) -> Answer:
    found = [
        {**_written(server), "name": f"{name}@{place.application}"}
        for place in discover_configs()
        if place.application != "mcpclient"  # whose servers need no application in their names
        for name, server in load(place.path, foreign=True).servers.items()
    ]
    rows = [(each["name"], each["status"], each["target"], each["file"]) for each in found]
    header = ("SERVER", "STATUS", "TARGET", "FILE")
    text = table(header, rows, screen.style, "no servers found")
    return Answer({"servers": found}, text)


_FOUND = 10


@LocalCommand(
    "find",
    usage="[--config FILE] [--limit NUMBER] WORD ...",
    options=(
        _CONFIG,
        number("--limit", f"show at most this many ({_FOUND})", _FOUND),
    ),
    details="The best come first: rare words count more, and words in names more than in prose.",
)
async def _find(screen: Screen, options: argparse.Namespace) -> Answer:
    if not options.words:
        raise UsageError("find needs words to look for")
    config = load(options.config, otherwise="no server is configured, so there is nothing to find")
    things: list[Tool] = []
    async with screen.status, _manager(config) as manager:
        for name, server in manager.servers.items():
            if not server.is_connected:
                screen.say(f"{name} is not connected: {in_short(_error_of(server))}")
                continue
            things += _things("tool", name, server.tools)
            with suppress(McpError):
                things += _things("prompt", name, await server.client.list_prompts())
            with suppress(McpError):
                things += _things("resource", name, await server.client.list_resources())
    best = search_tools(" ".join(options.words), things, limit=options.limit)
    rows = []
    for each in best:
        kind, server_name = each.raw["kind"], each.raw["server"]
        own = each.raw["uri"] if kind == "resource" else each.name
        name = f"{server_name}.{own}" if kind == "tool" else own
        rows.append((name, f"{kind} of {server_name}", each.description or each.title))
    text = listing(("NAME", "KIND", "DESCRIPTION"), rows, screen.style, "nothing fits")
    return Answer({"found": [each.raw for each in best]}, text)


def _things(kind: str, server: str, items: Sequence[Tool | Prompt | Resource]) -> Iterator[Tool]:
    """Yield tools, prompts or resources as tools, which can be ranked."""
    for each in items:
        yield Tool({"kind": kind, "server": server, "name": each.raw.get("uri"), **each.raw})


def _status(server: Server) -> dict[str, Any]:
    error = server.error
    found: dict[str, Any] = {"status": server.status.value}
    if server.is_connected:
        info = server.client.server_info
        found["server"] = " ".join(filter(None, [info.name, info.version]))
        found["tools"] = len(server.tools)
    if isinstance(error, ServerUnavailable):  # the status says the rest
        found["reason"] = error.reason
    elif isinstance(error, McpError):
        found["reason"], found["hint"] = text_and_hint(error)
        found["short"] = in_short(error)
    elif error is not None:
        found["reason"] = str(error)
    return found


def _answer_servers(
    config: Config, found: Mapping[str, Mapping[str, Any]], style: Style, path: str | None
) -> Answer:
    servers = [
        {**_written(server), **found.get(name, {})} for name, server in config.servers.items()
    ]
    listed = table(("SERVER", "STATUS", "TARGET", "TOOLS OR REASON"), map(_row, servers), style)
    failed = [each["name"] for each in servers if each.pop("short", None)]
    raw = {"servers": servers, "problems": [str(problem) for problem in config.problems]}
    if not servers and any(problem.is_error for problem in config.problems):
        return Answer(raw, "none of the configured servers can be used", exit_code=USAGE)
    if not servers:
        return Answer(raw, "no server is configured; mcpclient add writes one into a file")
    text = "\n".join([listed, *_waiting(config, servers)])
    return Answer(raw, text, notes=doctored(failed, path))


def _waiting(config: Config, servers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield all that the user would agree to, for each server that waits for it."""
    is_any = False
    for server in servers:
        sheet = config.servers[server["name"]].sheet
        if server["status"] == "needs_approval" and sheet is not None:
            is_any = True
            yield f"\n{one_line(server['name'])} would start with:"
            yield from (f"  {line}" for line in sheet.lines())
    if is_any:
        yield "\nTo agree: mcpclient approve NAME, or --all"


def _written(server: ServerConfig) -> dict[str, Any]:
    return {
        "name": server.name,
        "scope": server.scope,
        "file": server.source,
        "target": shown_target(server),
        "status": server.state,
        **({"reason": server.reason} if server.reason else {}),
        **({"sandbox": str(sandbox)} if (sandbox := server.options.get("sandbox")) else {}),
        **({"sheet": server.sheet.as_json()} if server.sheet is not None else {}),
    }


def _row(server: Mapping[str, Any]) -> tuple[str, ...]:
    if "tools" in server:
        told = f"{counted(server['tools'], 'tool')} of {server.get('server') or 'no name'}"
        told += ", in a sandbox" if "sandbox" in server else ""
    else:
        told = server.get("short") or server.get("reason") or ""
    return server["name"], server["status"], server["target"], told


_FILE = "mcp.lock"
_SKIPPED = ("disabled", "denied")
_AGAIN = "review it; to accept it: mcpclient lock"
_GONE = "configure it again, or delete its entry from the lock file"


@LocalCommand(
    "lock",
    usage="[--check] [--config FILE] [NAME ...]",
    options=(
        flag("--check", "only compare; exit code 1 when something differs"),
        option("--file", "FILE", f"lock file ({_FILE})", default=_FILE),
        _CONFIG,
    ),
    details="The lock file holds the names, texts, schemas and annotations of all tools, and the "
    "instructions. Commit it: lock --check reports a tool that has changed since, as in a rug "
    "pull, and a manager with mcpclient.Pins refuses it.",
)
async def _lock(screen: Screen, options: argparse.Namespace) -> Answer:
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
    async with screen.status, _manager(chosen) as manager:
        servers = manager.servers
        offers = {name: each.to_pin() for name, each in servers.items() if each.is_connected}
        down = {name: _error_of(servers[name]) for name in chosen if name not in offers}
    for name, offer in offers.items():
        for unseen in offer.unseen():
            screen.say(f"{name}: {unseen}")
    if options.check:
        found = [*_compared(pins, gone, offers), *_unknown(down)]
        return _answer_lock(found, offers, options)
    if down and not offers:
        raise next(iter(down.values()))
    with writing(options.file):
        pins.write(offers)
    counts = {name: len(pins.servers[name].tools) for name in offers}
    lines = [f"locked {counted(each, 'tool')} of {one_line(name)}" for name, each in counts.items()]
    lines += [each.shown for each in _unknown(down)]
    raw = {"locked": counts, "not_locked": list(down), "file": options.file}
    text, code = "\n".join(lines), FAILED if down else 0
    return Answer(raw, text, exit_code=code, notes=doctored([*down], options.config))


class _Finding(NamedTuple):
    server: str
    kind: str
    message: str
    hint: str
    tool: str = ""
    difference: str = ""

    @property
    def shown(self) -> str:
        told = f"{self.server}: {self.message}" + (f" ({self.hint})" if self.hint else "")
        return escape("\n".join(filter(None, (told, self.difference))))


def _error_of(server: Server) -> McpError:
    if isinstance(server.error, McpError):
        return server.error
    reason = str(server.error or server.config.reason or server.status)
    return ConnectFailed(server.name, reason)


def _unknown(down: Mapping[str, McpError]) -> Iterator[_Finding]:
    for name, error in down.items():
        yield _Finding(name, "unreachable", f"its tools are not known: {in_short(error)}", "")


def _compared(
    pins: Pins, gone: Sequence[str], offers: Mapping[str, ServerOffer]
) -> Iterator[_Finding]:
    """Yield all differences from the lock; a server on one side only is a single one."""
    for name in gone:
        yield _Finding(name, "gone", "is locked, but not configured", _GONE)
    for name, offer in offers.items():
        if not pins.knows(name):
            yield _Finding(name, "added", "is not in the lock file", f"{_AGAIN} {name}")
            continue
        for each in pins.compare(name, *offer):
            message = str(each).partition("\n")[0]
            again = _AGAIN if each.kind != "duplicate" else each.hint
            yield _Finding(name, each.kind, message, again, each.tool, each.difference)


def _answer_lock(
    found: Sequence[_Finding], offers: Iterable[str], options: argparse.Namespace
) -> Answer:
    servers: dict[str, list[dict[str, str]]] = {}
    for each in found:
        fields = {"tool": each.tool, "kind": each.kind, "difference": each.difference}
        servers.setdefault(each.server, []).append({**fields, "message": each.message})
    same = [one_line(name) for name in offers if name not in servers]
    lines = [f"unchanged: {', '.join(same)}"] if same and found else []
    lines += [each.shown for each in found] or ["nothing differs from the lock"]
    down = [each.server for each in found if each.kind == "unreachable"]
    raw = {"servers": servers, "unchanged": same, "file": options.file}
    notes, code = doctored(down, options.config), FAILED if found else 0
    return Answer(raw, "\n".join(lines), exit_code=code, notes=notes)

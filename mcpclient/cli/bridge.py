"""``mcpclient bridge``: a stdio server in front of one server or many, for hosts of all kinds."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, Any

from ..bridging.bridge import Bridge
from ..client.client import Client
from ..client.connection.limits import RequestOptions
from ..config.config import Config, ServerConfig
from ..errors import McpError, ServerUnavailable, UsageError
from ..framing.logs import logger_for
from ..gate.gate import Gate
from ..gateway.gateway import Gateway
from ..manager.manager import Manager
from ..manager.naming import is_offered
from ..manager.pins import Pins
from ..suggestions import there_is_no
from .command import Answer, LocalCommand, Server, flag, number, option, seconds
from .configured import load
from .connecting import client_options, with_options
from .parsing import NEEDED, only_server, spelled
from .running import advise, error_text
from .screen import Screen

_logger = logger_for("mcpclient.gateway")

# Seconds for connecting: some servers are downloaded at their first start.
_CONNECTS_WITHIN = 120.0
# Hosts put such as mcp__gateway__ in front of names, and models take 64 characters in all.
_NAME_LIMIT = 50
_WAIT = 1.0

_OPTIONS = (
    flag("--all", "stand in front of every configured server"),
    option("--only", "NAME,NAME", "stand in front of these configured servers"),
    flag("--search", "offer three tools: find, describe and call any other"),
    flag("--code", "offer these three, and run_python, which runs Python in a sandbox"),
    flag("--read-only", "offer only tools that change nothing, as servers that you trust say"),
    option(
        "--pins",
        "FILE",
        "refuse tools that differ from this lock file (mcp.lock)",
        nargs="?",
        const="mcp.lock",
    ),
    seconds("--wait", f"longest time that a list waits for servers that start ({_WAIT:g})", _WAIT),
    number("--name-limit", f"longest name of a tool ({_NAME_LIMIT})", _NAME_LIMIT),
    flag("--print-config", "print the entry for the configuration of a host, and end"),
)

_WITH_PATH = ("--config", "--pins", "--audit", "--trace")

# The options that say how one server is connected.
_FOR_ONE = (*NEEDED, "transport", "protocol_version")


def _names_many(options: argparse.Namespace) -> bool:
    """Whether the options and words name many servers, or one in the way of many."""
    is_plain = not options.words and options.server_command is None
    many = options.all or options.only or options.search or options.code or options.read_only
    return bool(many or options.pins or len(options.words) > 1 or (is_plain and options.config))


def _entry_for_host(options: argparse.Namespace) -> str:
    """Return the entry that a host needs, as a document of the usual shape."""
    words: list[str] = []
    for word in options.line:  # a host starts it in another folder
        name, equals, path = word.partition("=")
        if words and words[-1] in _WITH_PATH and not word.startswith("-"):
            word = os.path.abspath(word)
        elif equals and name in _WITH_PATH:
            word = f"{name}={os.path.abspath(path)}"
        words += [word] if word != "--print-config" else []
    program = ["mcpclient"]
    if shutil.which(program[0]) is None:
        program = [sys.executable, "-m", str(__package__).rpartition(".")[0]]
    command, *first = program
    entry = {"command": command, "args": [*first, *words]}
    return json.dumps({"mcpServers": {"gateway": entry}}, indent=2, ensure_ascii=False)


def _gateway(screen: Screen, options: argparse.Namespace) -> Gateway:
    """Return a gateway to the servers that the options name. Raises `UsageError`."""
    if options.server_command is not None:
        raise UsageError("a server command is for a bridge to one server; name configured ones")
    for name in _FOR_ONE:
        if getattr(options, name):
            raise UsageError(f"{spelled(name)} is for a bridge to one server").advise(
                "Write it into the server's entry in the configuration file."
            )
    if options.pins and not os.path.isfile(options.pins):
        raise UsageError(f"there is no lock file {options.pins!r}").advise(
            "Make one with mcpclient lock --file FILE, and give it as --pins=FILE."
        )
    names = [*options.words, *filter(None, (options.only or "").split(","))]

    def chosen(say: Callable[[str], object] | None = None) -> Config:
        return _chosen(load(options.config, say=say), names, screen, options)

    config = chosen(screen.say)
    is_one = not options.all and not options.only and len(names) == 1
    manager = Manager(
        replace(config, load_again=chosen),
        naming="tool" if is_one else "server__tool",
        name_limit=options.name_limit,
        lazy=True,
        pins=Pins(options.pins, mode="refuse") if options.pins else None,
        connect_timeout=_CONNECTS_WITHIN,
    )

    def explain(name: str, error: BaseException) -> str:
        found = manager.servers.get(name)
        server = Server(found.config.target if found is not None else "")
        named = argparse.Namespace(**{**vars(options), "named": [name], "words": []})
        if not isinstance(error, McpError):
            return str(error)
        advise(error, named, server)
        text = error_text(error, stderr_was_shown=True)
        waits = isinstance(error, ServerUnavailable) and error.status == "needs_approval"
        return f"{text}\nAgree to it with: mcpclient approve {shlex.quote(name)}" if waits else text

    return Gateway(
        manager,
        expose="code" if options.code else "search" if options.search else "all",
        wait=options.wait,
        read_only=options.read_only,
        limits=RequestOptions(options.timeout, options.max_timeout),
        explain=explain,
    )


def _chosen(
    config: Config, names: Sequence[str], screen: Screen, options: argparse.Namespace
) -> Config:
    """Return a configuration with the named servers, or all, and without the gateway itself."""
    for name in names:
        if name not in config.servers:
            raise UsageError(there_is_no("server", name, config.servers, "in the configuration"))
    servers = {}
    for name, server in config.servers.items():
        if names and name not in names:
            continue
        if is_gateway(server):
            _logger.info("left out %s: it is a gateway to these servers", name)
        elif server.state == "ready":
            others: dict[str, Any] = {"elicitation": None, "cache": False}
            servers[name] = with_options(server, options, screen, **others)
        else:
            servers[name] = server
    return replace(config, servers=servers)


_PROGRAM = r"(?:^|[/\\.\s])mcpclient(?:\.exe|\.pyz)?[\"']?\s+bridge\b"
_MANY = r".*\s--(?:all|only|search|code|read-only)\b|\s+--config[\s=]\S+\s*$"
_GATEWAY = re.compile(f"{_PROGRAM}(?:{_MANY})", re.DOTALL)


def is_gateway(server: ServerConfig) -> bool:
    """Whether an entry starts a gateway, which would start itself, and so on without end."""
    target = server.target
    words = target if isinstance(target, (list, tuple)) else []
    return _GATEWAY.search(" ".join(map(str, words))) is not None


@LocalCommand(
    "bridge",
    usage="[OPTION ...] [SERVER ... | @SESSION] [-- SERVER-COMMAND ...]",
    options=_OPTIONS,
    takes_server=True,
    details=(
        "A host starts it as a stdio server. It connects with all that this client has, such as "
        "logins, proxies and sandboxes, and passes messages on in both directions, whichever "
        "revisions host and server speak. Only messages are written to stdout. With --all, or "
        "several names, it stands in front of many servers.\n\n"
        "In the configuration of a host:\n"
        '  {"mcpServers": {"corp": {"command": "mcpclient",\n'
        '    "args": ["bridge", "https://mcp.corp.example/mcp"]}}}'
    ),
)
def bridge(screen: Screen, options: argparse.Namespace) -> Answer | Awaitable[Answer]:
    """Return the work of a bridge to the server, or the servers, that the words name."""
    if options.print_config:
        text = _entry_for_host(options)
        return Answer(json.loads(text), text)
    if _names_many(options):
        return _serve(_gateway(screen, options))
    server = only_server(options)
    config = server.config

    async def work() -> Answer:
        def make_client(**others: Any) -> Client:
            given = client_options(server, options, screen, elicitation=None, cache=False)
            given.setdefault("connect_timeout", _CONNECTS_WITHIN)
            options_of_both: dict[str, Any] = {**others, **given}
            return Client(server.target, **options_of_both)

        def explain(error: McpError) -> str:
            advise(error, options, server)
            return error_text(error, stderr_was_shown=True)

        def offers(name: object) -> bool:
            return config is None or is_offered(str(name), config.include, config.exclude)

        limits = RequestOptions(options.timeout, options.max_timeout)
        judge = partial(_judge, server)
        return await _serve(Bridge(make_client, judge, explain, limits, offers))

    return work()


async def _serve(served: Bridge | Gateway) -> Answer:
    stdin, stdout = _own_streams()
    await served.serve(stdin, stdout, threads=sys.platform == "win32")
    return Answer({}, "", is_shown=True)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return stdin and stdout. Whatever else is written to stdout goes to stderr from now on."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(stdin, "rb", 0), os.fdopen(stdout, "wb", 0)


def _judge(server: Server) -> str:
    """Return why an entry may be used; raise `ServerUnavailable` if it may not, or has changed."""
    if server.config is None:
        return ""
    now = Gate().admit(server.config, switched_on=True)
    if now.state != "ready" or now.target != server.target:
        raise ServerUnavailable(now.name, now.state, now.reason or "its entry has changed")
    return now.decision

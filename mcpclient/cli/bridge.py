"""``mcpclient bridge``: a stdio server in front of a server, for hosts that speak only stdio."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Awaitable
from functools import partial
from typing import IO, Any

from ..bridging.bridge import Bridge
from ..client.client import Client
from ..client.connection.limits import RequestOptions
from ..errors import McpError, ServerUnavailable
from ..gate.gate import Gate
from ..gateway.gateway import Gateway
from ..manager.naming import is_offered
from .command import Answer, LocalCommand, Server
from .connecting import client_options
from .gateway import CONNECTS_WITHIN, OPTIONS, entry_for_host, gateway, names_many
from .parsing import only_server
from .running import advise, error_text
from .screen import Screen


@LocalCommand(
    "bridge",
    usage="[OPTION ...] [SERVER ... | @SESSION] [-- SERVER-COMMAND ...]",
    options=OPTIONS,
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
def bridge(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    """Return the work of a bridge to the server, or the servers, that the words name."""
    if options.print_config:
        return _shown(entry_for_host(options))
    if names_many(options):
        return _serve(gateway(screen, options))
    server = only_server(options)
    config = server.config

    async def work() -> Answer:
        def make_client(**others: Any) -> Client:
            given = client_options(server, options, screen, elicitation=None, cache=False)
            given.setdefault("connect_timeout", CONNECTS_WITHIN)
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


async def _shown(text: str) -> Answer:
    return Answer(json.loads(text), text)


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


def _judge(server: Server) -> None:
    """Raise `ServerUnavailable` if an entry may not be used any more, or is another one now."""
    if server.config is None:
        return
    now = Gate().admit(server.config, switched_on=True)
    if now.state != "ready" or now.target != server.target:
        raise ServerUnavailable(now.name, now.state, now.reason or "its entry has changed")

"""``mcpclient doctor``: find out, in order, what is wrong with a server."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..client.client import Client
from ..errors import McpError, ProtocolViolation
from ..framing.escaping import escape, escape_line
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema
from .command import Answer, LocalCommand, LocalWork
from .connecting import client_for
from .diagnosis import Check, check_of, cure_of, raw_report, report_of
from .exit_codes import PROTOCOL_ERROR
from .failures import exit_code, text_and_cure
from .render import Style
from .screen import Screen
from .server import Server
from .target import only_server

__all__ = ["COMMAND"]

_NAMED = 3
_NOISE = ("skipped a line that is no message", "not a JSON-RPC message")
_CORRECT = "Correct the file, or set what it needs."
_TO_STDERR = "Servers must log to stderr: to stdout go messages, and nothing else."


def _prepare(options: argparse.Namespace) -> LocalWork:
    async def work(screen: Screen) -> Answer:
        try:
            server = only_server(options)
        except McpError as error:
            named = options.words[0] if options.words else ""
            return _answer(named, [_failed(error)], True, exit_code(error), screen.style)
        return await _examined(server, options, screen)

    return work


async def _examined(server: Server, options: argparse.Namespace, screen: Screen) -> Answer:
    is_local = not (isinstance(server.target, str) and "://" in server.target)
    target, code = "", 0
    found: list[Check] = []
    if server.warnings:
        found.append(Check("config", "warning", "\n".join(server.warnings), _CORRECT))
    noise = _Noise()
    with noise:
        try:
            client = client_for(server._replace(warnings=()), options, screen)
            target = client.target
            async with screen.status:
                try:
                    await client.connect()
                    found.append(_agreed(client))
                    code = await _look_at_tools(client, found)
                finally:
                    await client.close()
        except McpError as error:
            found.append(_failed(error))
            code = exit_code(error, connecting=True)
    if noise.lines and not any(check.name == "command" for check in found):
        found.append(Check("command", "warning", noise.lines[0], _TO_STDERR))
    return _answer(target, found, is_local, code, screen.style)


class _Noise(logging.Handler):
    """Gathers what the library says of lines on stdout that are no messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if any(noise in text for noise in _NOISE):
            self.lines.append(text)

    def __enter__(self) -> _Noise:
        logging.getLogger("mcpclient").addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger("mcpclient").removeHandler(self)


def _failed(error: McpError) -> Check:
    text, cure = text_and_cure(error)
    return Check(check_of(error), "failed", text, cure or cure_of(error) or error.cure)


def _agreed(client: Client) -> Check:
    info = client.server_info
    name = " ".join(filter(None, [info.name, info.version])) or "a server without a name"
    said = f"revision {client.protocol_version} over {client.transport_name}, {name}"
    return Check("era", "ok", escape_line(said))


async def _look_at_tools(client: Client, found: list[Check]) -> int:
    """Check the list of tools, and each schema in it. Return the exit code."""
    if "tools" not in client.capabilities:
        found.append(Check("tools", "skipped", "the server declares no tools"))
        found.append(Check("schemas", "skipped"))
        return 0
    try:
        first = await client.request("tools/list", {})
        tools = [tool.raw for tool in await client.list_tools()]
        if "tools" not in first:
            raise ProtocolViolation("the result of tools/list has no list of tools")
    except McpError as error:
        found.append(Check("tools", "failed", str(error), cure_of(error) or error.cure))
        return exit_code(error)
    found.append(_tools_check(tools))
    found.append(_schemas_check(tools))
    return PROTOCOL_ERROR if found[-1].status == "failed" else 0


def _tools_check(tools: Sequence[Mapping[str, Any]]) -> Check:
    counts = Counter(str(tool.get("name")) for tool in tools)
    twice = [name for name, count in counts.items() if count > 1]
    said = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
    if twice:
        names = escape_line(", ".join(twice[:_NAMED]))
        cure = "Give every tool a name of its own: only one of them can be called."
        return Check("tools", "warning", f"{said}; several are called {names}", cure)
    return Check("tools", "ok", said)


def _schemas_check(tools: Sequence[Mapping[str, Any]]) -> Check:
    """Compile the schemas of all tools."""
    wrong = []
    for tool in tools:
        for key in ("inputSchema", "outputSchema"):
            problem = _problem_of(tool, key)
            if problem:
                wrong.append(f"{key} of {tool.get('name')}: {problem}")
    if not wrong:
        return Check("schemas", "ok", "all of them can be used")
    more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    cure = "Correct the schema: models and clients cannot use the tool as it is."
    return Check("schemas", "failed", escape_line("; ".join(wrong[:_NAMED]) + more), cure)


def _problem_of(tool: Mapping[str, Any], key: str) -> str:
    schema = tool.get(key)
    if schema is None:
        return "" if key == "outputSchema" else "it is missing"
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return 'its type is not "object"'
    try:
        compile_schema(schema, clock=steady_seconds)
    except McpError as error:
        return str(error)
    return ""


def _answer(target: str, found: Sequence[Check], is_local: bool, code: int, style: Style) -> Answer:
    checks = report_of(found, is_local=is_local)
    text = "\n".join(line for check in checks for line in _lines(check, style))
    return Answer(raw_report(target, checks), text, exit_code=code)


def _lines(check: Check, style: Style) -> list[str]:
    if check.status == "skipped" and not check.found:
        return []
    said = escape(check.found).splitlines() or [""]
    status = style.bold(check.status) if check.status in ("failed", "warning") else check.status
    gap = " " * (len("skipped") - len(check.status))
    lines = [f"{check.name:9}{status}{gap}  {said[0]}".rstrip()]
    lines += [f"{'':18}{line}" for line in said[1:]]
    if check.cure and check.status != "ok":
        lines.append(f"{'':18}→ {escape_line(check.cure)}")
    return lines


COMMAND = LocalCommand(
    "doctor",
    _prepare,
    usage="[OPTION ...] [SERVER | -- SERVER-COMMAND ...]",
    takes_server=True,
    details=(
        "Each thing that can be wrong is checked in its turn, from the configuration to the "
        "schemas of the tools, and the first that is wrong is named with what to do about it. The "
        "exit code is that of the first check that failed; warnings are 0."
    ),
)

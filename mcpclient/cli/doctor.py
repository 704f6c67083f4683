"""``mcpclient doctor``: find out, in order, what is wrong with a server."""

from __future__ import annotations

import argparse
import json
import os
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Awaitable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Callable, Literal, NamedTuple

from ..client.client import Client
from ..client.connection.targets import destination_of
from ..client.requests import connection_of
from ..errors import (
    AuthError,
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    HttpError,
    McpError,
    ProcessExited,
    ProtocolViolation,
    UsageError,
    safe_str,
)
from ..framing.escaping import escape, escape_line
from ..framing.uri import Url, parse_url
from ..framing.visible_texts import invisible_in
from ..hints import noise_hint
from ..net.clocks import steady_seconds, working_seconds
from ..net.network_options import NetworkOptions
from ..protocol.faults.lists import schema_faults
from ..recording.judging import JudgedTranscript
from .command import Answer, LocalCommand, Server
from .commands import PROTOCOL_ERROR
from .connecting import client_for
from .layout import Style, counted, fill, one_line
from .parsing import is_named, only_server
from .running import exit_code, text_and_hint
from .screen import Screen

Status = Literal["ok", "warning", "failed", "skipped"]

CHECKS = (
    *("config", "command", "dns", "tcp", "tls", "proxy", "http"),
    *("path", "era", "auth", "tools", "schemas", "protocol", "sandbox"),
)
"""The checks in order: each needs those before it to pass."""


class Check(NamedTuple):
    """The outcome of a check, with a hint."""

    name: str
    status: Status
    found: str = ""
    hint: str = ""


# By the kind of an error, or else by its class.
_CHECK_OF_KIND: dict[object, str] = {
    "working_directory": "config",
    "unknown_host": "dns",
    **dict.fromkeys(("not_tls", "tls", "client_certificate", "certificate", "self_signed"), "tls"),
    **dict.fromkeys(("unknown_authority", "other_host", "expired", "not_yet_valid"), "tls"),
    **dict.fromkeys(("proxy", "proxy_credentials", "proxy_negotiate", "proxy_login"), "proxy"),
    **dict.fromkeys(("closed_early", "dropped", "not_http"), "http"),
    **dict.fromkeys(("not_an_endpoint", "no_response", "page", "not_json"), "path"),
}
_CHECK_OF_CLASS: dict[type[McpError], str] = {
    **dict.fromkeys((CommandNotFound, ProcessExited), "command"),
    ConnectFailed: "tcp",
    UsageError: "config",
    AuthError: "auth",
}
_CHECK_OF_STATUS = {401: "auth", 403: "auth", 407: "proxy", 429: "http"}
# The check that a connection timeout belongs to, by the last stage it reached.
_NEXT_CHECK = {"nothing": "tcp", "tcp": "tls", "connected": "http"}


def check_of(error: McpError) -> str:
    """Return the name of the check that an error while connecting belongs to."""
    if isinstance(error, HttpError):
        return _CHECK_OF_STATUS.get(error.status, "http" if error.status >= 500 else "path")
    if isinstance(error, CallTimeout) and error.reached in _NEXT_CHECK:
        return _NEXT_CHECK[error.reached]
    by_class = (check for kind, check in _CHECK_OF_CLASS.items() if isinstance(error, kind))
    return _CHECK_OF_KIND.get(getattr(error, "kind", None)) or next(by_class, "era")


def checks_for(url: Url | None, *, through_proxy: bool) -> set[str]:
    """Return the checks that apply to a server; ``url`` is None for a command."""
    names = {"config", "era", "tools", "schemas", "protocol"}
    if url is None:
        return names | {"command"}
    is_address = ":" in url.host or url.host.replace(".", "").isdigit()
    has = {
        "dns": url.scheme != "unix" and not through_proxy and not is_address,
        "tls": url.secure,
        "proxy": through_proxy,
        **dict.fromkeys(("http", "path"), url.scheme in ("http", "https", "ws", "wss")),
    }
    return names | {"tcp"} | {name for name, applies in has.items() if applies}


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


_NAMED = 3
SLOW_START = 5.0
"""Seconds for connecting of which authors are warned."""

_CORRECT = "Correct the file, or set the variables it needs."
_NO_BOM = "Save it as UTF-8 without a byte order mark: other applications may not read it."
_JSON_TYPE = "Have the server answer with application/json: other clients refuse other types."
_SLOW = "Have the server start faster: some hosts wait only a few seconds for a server."
_NONE = "No server is configured: name one, or write one into a file with mcpclient add."


@LocalCommand(
    "doctor",
    usage="[OPTION ...] [SERVER | -- SERVER-COMMAND ...]",
    takes_server=True,
    details="Checks each step in order, from the configuration to the schemas of the tools, and "
    "names the first that fails, with a hint. The exit code comes from the first failed check; "
    "warnings are 0. Without a name, all configured servers are checked.",
)
def _doctor(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    if is_named(options):
        return _examined(_found(partial(only_server, options)), screen, options)
    return _examine_all(screen, options)


def _found(find: Callable[[], Server]) -> Server | McpError:
    """Return the server, or the reason why it cannot be used, which is the result of a check."""
    try:
        return find()
    except McpError as error:
        return error


async def _examine_all(screen: Screen, options: argparse.Namespace) -> Answer:
    """Check every configured server; disabled or unapproved ones are not started."""
    from .configured import load, server_of, shown_target

    config = load(options.config, otherwise=_NONE, say=screen.say)
    found = {}
    for name, server in config.servers.items():
        target = shown_target(server)
        admitted = _found(partial(server_of, server, config))
        found[name] = await _examined(admitted, screen, options, target)
    bold = screen.style.bold
    texts = [f"{bold(one_line(name))}\n{each.text}" for name, each in found.items()]
    raw = [{"name": name, **each.raw} for name, each in found.items()]
    code = next((each.exit_code for each in found.values() if each.exit_code), 0)
    return Answer({"servers": raw}, "\n\n".join(texts), exit_code=code)


async def _examined(
    server: Server | McpError, screen: Screen, options: argparse.Namespace, target: str = ""
) -> Answer:
    code, trust, is_connected = 0, "", False
    relevant: set[str] = set()
    found: list[Check] = []
    judged, types = JudgedTranscript(), set[str]()
    try:
        if isinstance(server, McpError):
            raise server
        found += _file_check(server)
        client = client_for(server._replace(warnings=()), options, screen)
        client.trace_to(judged.append)
        client.trace_to(lambda line: types.update(_odd_types(json.loads(line))))
        target, connection = client.target, connection_of(client)
        network, named = connection.options.network, server.target
        url = parse_url(named) if isinstance(named, str) and "://" in named else None
        through_proxy = url is not None and network.proxy_for(url) is not None
        relevant = checks_for(url, through_proxy=through_proxy)
        trust = _trust_of(network, os.environ)
        began = steady_seconds()
        async with screen.status, client:
            is_connected = True
            found += [_agreed(client, steady_seconds() - began), *_sandbox_check(server)]
            try:
                found += await _tool_checks(client)
                found.append(_protocol_check(judged))
            finally:
                for media in sorted(types)[:1]:
                    said = escape_line(f"its answers have the Content-Type {media!r}")
                    found.append(Check("http", "warning", said, _JSON_TYPE))
                noise = connection.session.transport.skipped
                if noise:
                    said = f"its stdout is not JSON-RPC: {escape_line(noise[0])}"
                    hint = noise_hint("\n".join(noise))
                    found.append(Check("command", "warning", said, hint))
        if any(check.status == "failed" for check in found):
            code = PROTOCOL_ERROR
    except McpError as error:
        name = "tools" if is_connected else check_of(error)
        found.append(Check(name, "failed", *text_and_hint(error)))
        code = exit_code(error, connecting=not is_connected)
    checks = [
        check._replace(found="\n".join(filter(None, [check.found, trust])))
        if check.name == "tls" and check.status != "skipped"
        else check
        for check in report_of(found, relevant)
    ]
    found_raw = [{**each._asdict(), "cure": each.hint} for each in checks]
    raw = {"target": target or "".join(options.named[:1]), "checks": found_raw}
    text = "\n".join(line for each in checks for line in _lines(each, screen.style))
    return Answer(raw, text, exit_code=code)


def _trust_of(network: NetworkOptions, environ: Mapping[str, str]) -> str:
    """Name the environment variables with authorities, and those without effect here."""
    if network.ca_file is not None or network.ssl_context is not None or not network.verify:
        return ""
    said = []
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        value = environ.get(name)
        if value:
            exists = any(map(os.path.exists, (value, *value.split(os.pathsep))))
            said.append(f"{name}={value}{'' if exists else ' does not exist'}")
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
        if environ.get(name):
            said.append(f"{name}={environ[name]} is not read: give it as SSL_CERT_FILE")
    return escape("\n".join(said))


def _sandbox_check(server: Server) -> Iterator[Check]:
    """Report the sandbox of a server, or the one that its command is likely to run in."""
    own = server.options.get("sandbox")
    command = destination_of(server.target)
    if not isinstance(command, list):
        return
    if own is not None:
        yield Check("sandbox", "ok", escape_line(str(own)))
        return
    from ..sandbox.rights import Sandbox

    env, directory = server.options.get("env") or {}, server.options.get("cwd") or "."
    needed = Sandbox.for_command(command, env, os.fspath(directory))
    said = f"none; it is likely to run with {' '.join(['--sandbox', *needed.as_options()])}"
    yield Check("sandbox", "skipped", escape_line(said))


def _file_check(server: Server) -> Iterator[Check]:
    """Report the problems of an entry, and a file that other programs may not be able to read."""
    if server.warnings:
        yield Check("config", "warning", "\n".join(server.warnings), _CORRECT)
        return
    with suppress(OSError), open(server.config.source if server.config else "", "rb") as file:
        if file.read(3) == BOM_UTF8:
            said = f"{file.name} begins with a byte order mark"
            yield Check("config", "warning", escape_line(said), _NO_BOM)


def _odd_types(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the type of an answer over HTTP that is neither JSON nor a stream of events."""
    http = record.get("http", {})
    if http.get("status") == 200 and not {"text", "message"}.isdisjoint(record):
        media = dict(http["headers"]).get("content-type", "")
        if not media.lower().startswith(("application/json", "text/event-stream")):
            yield media


def _agreed(client: Client, took: float) -> Check:
    info = client.server_info
    name = " ".join(filter(None, [info.name, info.version])) or "a server without a name"
    said = f"revision {client.protocol_version} over {client.transport_name}, {name}"
    if took > SLOW_START:
        return Check("era", "warning", escape_line(f"{said}; connecting took {took:.1f} s"), _SLOW)
    return Check("era", "ok", escape_line(said))


_MODEL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_TOOLS = 1000


async def _tool_checks(client: Client) -> list[Check]:
    """Check the names of all tools, and compile their schemas.

    An input schema repaired for models is a warning.
    """
    if "tools" not in client.capabilities:
        return [Check("tools", "skipped", "the server declares no tools")]
    first = await client.request("tools/list", {})
    tools = [tool.raw for tool in await client.list_tools()]
    if "tools" not in first:
        raise ProtocolViolation("the result of tools/list has no list of tools")
    agreement = connection_of(client).agreement
    unseen = [f"{tool.get('name')}: {each}" for tool in tools for each in invisible_in(tool)]
    unseen += invisible_in(agreement.instructions if agreement else None, "instructions")
    listed = _listed_check([safe_str(tool.get("name")) for tool in tools], unseen)
    if not tools:
        return [listed, Check("schemas", "skipped", "there are no tools")]
    results, inputs = (
        [
            f"{key} of {tool.get('name')}: {problem}"
            for tool in tools
            if (problem := _problem_of(tool, key))
        ]
        for key in ("outputSchema", "inputSchema")
    )
    if not (results or inputs):
        return [listed, Check("schemas", "ok", "all are valid JSON Schema")]
    hint = "models get its usable parts, and may miss the rest"
    if results:
        hint = "the results of the tool cannot be checked"
    status: Status = "failed" if results else "warning"
    said = _named(results + inputs)
    return [listed, Check("schemas", status, said, f"Correct the schema: {hint}.")]


def _listed_check(names: Sequence[str], unseen: Sequence[str]) -> Check:
    """Check the names of tools, and how many there are. ``unseen``: their invisible characters."""
    counts = Counter(names)
    found: list[tuple[str, str]] = []
    if not names:
        found.append(("", "Check why its list of tools is empty."))
    if twice := [name for name, count in counts.items() if count > 1]:
        hint = "Give every tool a unique name: of these only one can be called."
        found.append((f"several are called {', '.join(twice[:_NAMED])}", hint))
    if unseen:
        found.append((_named(unseen), "Remove the invisible characters: models do not get them."))
    if unfit := [name for name in counts if not _MODEL_NAME.fullmatch(name)]:
        hint = "Name tools with up to 64 letters, digits, _ and -, so that models see them."
        found.append((f"no model API takes the name {', '.join(unfit[:_NAMED])}", hint))
    if len(names) > _MOST_TOOLS:
        hint = "Offer fewer tools: their definitions alone fill the context of a model."
        found.append(("", hint))
    texts = [counted(len(names), "tool"), *(each for each, _ in found)]
    said = escape_line("; ".join(filter(None, texts)))
    return Check("tools", "warning", said, found[0][1]) if found else Check("tools", "ok", said)


def _named(found: Sequence[str]) -> str:
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return escape_line("; ".join(found[:_NAMED]) + more)


# What the checks of tools and of the command say already.
_SAID = {"duplicate", "not-json-rpc", "tool-name"}


def _protocol_check(judged: JudgedTranscript) -> Check:
    faults = [each for about, each in judged.found if each.code not in _SAID]
    # Tools without a usable schema are in the check before.
    faults = [each for each in faults if not re.match(r"result\.tools\[\d+\]", each.text)]
    if not faults:
        return Check("protocol", "ok", "its messages match the schema of the revision")
    said = _named([f"{each.text} [{each.clause}]" for each in faults])
    hint = "Correct the server's messages; mcpclient check lists all violations."
    return Check("protocol", "warning", said, hint)


def _problem_of(tool: Mapping[str, Any], key: str) -> str:
    schema = tool.get(key)
    if schema is None:
        return "" if key == "outputSchema" else "it is missing"
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return 'its type is not "object"'
    faults = schema_faults({key: schema}, "", clock=working_seconds)
    return next((each.text.partition(": ")[2] for each in faults), "")


_GAP = " " * 18


def _lines(check: Check, style: Style) -> list[str]:
    if check.status == "skipped" and not check.found:
        return []
    room = style.columns and style.columns - len(_GAP)
    said = fill(escape(check.found), room).splitlines() or [""]
    status = style.bold(check.status) if check.status in ("failed", "warning") else check.status
    gap = " " * (len("skipped") - len(check.status))
    lines = [f"{check.name:9}{status}{gap}  {said[0]}".rstrip()]
    if check.hint and check.status != "ok":
        said += fill(f"→ {escape_line(check.hint)}", room).splitlines()
    return lines + [_GAP + line for line in said[1:]]

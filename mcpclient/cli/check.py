"""``mcpclient check``: judge a server in each era, for its author and for CI."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from ..adapters.providers import PROVIDERS
from ..client.client import Client
from ..client.requests import connection_of
from ..errors import McpError, UsageError
from ..framing.escaping import escape_line
from ..framing.visible_texts import invisible_in
from ..net.clocks import steady_seconds, working_seconds
from ..net.files import write_file
from ..protocol.faults import CODES as FAULTS
from ..protocol.faults.lists import schema_faults
from ..protocol.schema_properties import properties_of
from ..protocol.types import Tool
from ..recording.judging import JudgedTranscript
from . import arguments
from .command import Answer, LocalCommand, Server, choice, flag, option, repeated
from .commands import FAILED, NO_CONNECTION
from .connecting import client_for
from .doctor import SLOW_START
from .layout import counted, fill
from .parsing import only_server
from .render import writing
from .running import exit_code
from .screen import Screen

SEVERITIES = ("error", "warning", "note")
_FAIL_ON = (*SEVERITIES, "never")

CODES: dict[str, tuple[str, str]] = {
    **{code: ("error", meaning) for code, (meaning, _) in FAULTS.items()},
    "tool-name": ("warning", FAULTS["tool-name"][0]),
    "no-connection": ("error", "the server cannot be connected to"),
    "request-failed": ("error", "a list or a call that failed with an error other than a tool's"),
    "tool-failed": ("warning", "a call for which the tool reported an error"),
    "slow-start": ("warning", "connecting took over 5 seconds"),
    "left-running": ("warning", "processes that did not exit by themselves at the end"),
    "model-schema": ("warning", "a schema that model APIs reject, or of which they lose a part"),
    "invisible": ("warning", "characters that models read but people cannot see"),
    "no-description": (
        "warning",
        "a tool, argument, resource or prompt without a description",
    ),
    "no-annotations": ("note", "a tool that does not declare whether it is read-only"),
}
"""The codes of findings, each with its severity and its meaning."""

_ERAS = ("2026-07-28", "2025-11-25")
_NAMED = 3
_GAP = " " * 9
_UNSAFE_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Finding(NamedTuple):
    """Something that is wrong. ``where``: the revision, the tool or the list; may be empty."""

    code: str
    where: str
    text: str
    clause: str = ""

    @property
    def severity(self) -> str:
        """``error``, ``warning`` or ``note``."""
        return CODES[self.code][0]


@LocalCommand(
    "check",
    usage="[OPTION ...] [SERVER | -- SERVER-COMMAND ...]",
    options=(
        repeated("--call", "CALL", "tool to call, with arguments: --call 'add a=1 b=2'"),
        flag("--all-read-only", "call every tool that is marked read-only, with example arguments"),
        repeated("--ignore", "CODE", "leave out findings with this code"),
        choice("--fail-on", _FAIL_ON, "least severe finding that fails; error"),
        option("--junit", "FILE", "write the findings as JUnit XML, too"),
    ),
    takes_server=True,
    details="Connects in each era of the protocol, lists everything, makes the calls that you "
    "name, and judges every message of the server by the schema of its revision. Also checks the "
    "schemas for five model APIs, descriptions, names, the start and the end. Exit code 1: there "
    "are findings as severe as --fail-on. All codes: mcpclient help testing.",
)
def _check(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    for code in options.ignore:
        if code not in CODES:
            raise UsageError(f"there is no code {code!r}: see mcpclient help testing")
    calls = [shlex.split(each) for each in options.call]
    if not all(calls):
        raise UsageError("--call needs a tool")
    return _judge(only_server(options), calls, screen, options)


async def _judge(
    server: Server, calls: list[list[str]], screen: Screen, options: argparse.Namespace
) -> Answer:
    found: list[Finding] = []
    eras: list[str] = []
    tools: dict[str, Tool] = {}
    error: McpError | None = None
    for version in [options.protocol_version] if options.protocol_version else _ERAS:
        options.protocol_version = version
        visit = _Visit(client_for(server, options, screen), version)
        try:
            async with screen.status:
                await visit.run(calls, all_read_only=options.all_read_only)
        except McpError as problem:
            if isinstance(problem, UsageError):
                raise
            error = error or problem
            if not visit.is_open:
                continue  # it may speak another era only
            found.append(Finding("request-failed", version, str(problem)))
        eras.append(version)
        found += visit.findings()
        tools.update((each.name, each) for each in visit.tools)
    if not eras and error is not None:
        found.append(Finding("no-connection", "", str(error)))
    found += _about_tools(list(tools.values()))
    kept = [each for each in dict.fromkeys(found) if each.code not in options.ignore]
    kept.sort(key=lambda each: (SEVERITIES.index(each.severity), each.code))
    tokens = {name: api.tools(tools.values()).tokens for name, api in PROVIDERS.items()}
    least = _FAIL_ON.index(options.fail_on)
    failing = (
        [each for each in kept if SEVERITIES.index(each.severity) <= least] if least < 3 else []
    )
    if options.junit:
        with writing(options.junit):
            write_file(options.junit, _junit(kept, failing).encode())
    code = FAILED if failing else 0
    if not eras and error is not None and "no-connection" not in options.ignore:
        code = exit_code(error, connecting=True) or NO_CONNECTION
    raw = {
        "target": server.name,
        "revisions": eras,
        "tools": len(tools),
        "tokens": tokens,
        "findings": [{"severity": each.severity, **each._asdict()} for each in kept],
    }
    return Answer(raw, _text(kept, eras, len(tools), tokens, screen), exit_code=code)


class _Visit:
    """One connection in one era: its lists, its calls, and the judgement of all of it."""

    def __init__(self, client: Client, version: str) -> None:
        self.tools: list[Tool] = []
        self.is_open = False
        self._client = client
        self._version = version
        self._judged = JudgedTranscript()
        self._found: list[Finding] = []

    async def run(self, calls: list[list[str]], *, all_read_only: bool) -> None:
        client, began = self._client, steady_seconds()
        client.trace_to(self._judged.append)
        async with client:
            self.is_open = True
            took = steady_seconds() - began
            if took > SLOW_START:
                text = f"connecting took {took:.1f} s"
                self._found.append(Finding("slow-start", self._version, text))
            transport = connection_of(client).session.transport
            await self._list()
            for words in calls:
                tool = arguments.tool_named(words[0], self.tools)
                given = arguments.parse_arguments(words[1:])
                await self._call(tool, arguments.checked_arguments(tool, given))
            for tool in filter(_only_reads, self.tools if all_read_only else ()):
                # As values, not as words: a word may name a file to send.
                await self._call(tool, arguments.example_arguments(tool))
        if getattr(transport, "was_forced", False):
            text = "the server, or a process that it started, did not end with its stdin"
            self._found.append(Finding("left-running", self._version, text))

    def findings(self) -> Iterator[Finding]:
        """Yield all findings, faults of messages included."""
        yield from self._found
        for about, fault in dict.fromkeys(self._judged.found):
            yield Finding(fault.code, about, fault.text, fault.clause)

    async def _list(self) -> None:
        client = self._client
        for name, fetch in (
            ("tools", client.list_tools),
            ("prompts", client.list_prompts),
            ("resources", client.list_resources),
            ("resources", client.list_resource_templates),
        ):
            if name not in client.capabilities:
                continue
            try:
                listed: Sequence[Any] = await fetch()
            except McpError as error:
                self._found.append(Finding("request-failed", name, str(error)))
                continue
            if name == "tools":
                self.tools = [each for each in listed if isinstance(each, Tool)]
            for each in listed:
                self._found += _about_texts(_title(name[:-1], each.raw), each.raw)

    async def _call(self, tool: Tool, given: Mapping[str, Any]) -> None:
        where = _title("tool", tool.raw)
        try:
            result = await self._client.call_tool(tool.name, given)
        except McpError as error:
            self._found.append(Finding("request-failed", where, str(error)))
            return
        if result.is_error:
            self._found.append(Finding("tool-failed", where, result.text or "no message"))


def _title(kind: str, raw: Mapping[str, Any]) -> str:
    name = raw.get("name") or raw.get("uri") or raw.get("uriTemplate")
    return f"{kind} {name}" if name else f"a {kind} without a name"


def _only_reads(tool: Tool) -> bool:
    annotations = tool.raw.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def _about_texts(where: str, raw: Mapping[str, Any]) -> Iterator[Finding]:
    if not isinstance(raw.get("description"), str) or not raw["description"].strip():
        yield Finding("no-description", where, "there is no description")
    read_by_models = {name: raw[name] for name in raw if name not in ("_meta", "icons")}
    for hidden in invisible_in(read_by_models):
        yield Finding("invisible", where, hidden)


def _about_tools(tools: Sequence[Tool]) -> Iterator[Finding]:
    for tool in tools:
        where = _title("tool", tool.raw)
        for fault in schema_faults(tool.raw, "", clock=working_seconds):
            yield Finding(fault.code, where, fault.text, fault.clause)
        properties = properties_of(tool.input_schema)
        silent = [name for name, each in properties.items() if not each.get("description")]
        if silent:
            text = f"no description of {', '.join(map(escape_line, silent))}"
            yield Finding("no-description", where, text)
        if not isinstance(tool.raw.get("annotations"), dict):
            yield Finding("no-annotations", where, "no readOnlyHint and no destructiveHint")
    lost: dict[tuple[str, str], list[str]] = {}
    for name, api in PROVIDERS.items():
        for problem in api.tools(tools).problems:
            lost.setdefault((problem.tool, problem.message), []).append(name)
    for (tool_name, message), apis in lost.items():
        where = f"tool {tool_name}" if tool_name else ""
        yield Finding("model-schema", where, f"{message} ({', '.join(apis)})")


def _text(
    found: Sequence[Finding],
    eras: Sequence[str],
    tools: int,
    tokens: Mapping[str, int],
    screen: Screen,
) -> str:
    lines = []
    columns = screen.style.columns and screen.style.columns - len(_GAP)
    grouped: dict[Finding, list[str]] = {}
    for each in found:
        grouped.setdefault(each._replace(where=""), []).append(each.where)
    for each, places in grouped.items():
        severity = each.severity if each.severity == "note" else screen.style.bold(each.severity)
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        where = ", ".join(filter(None, places[:_NAMED])) + more
        said = escape_line(f"{where}: {each.text}" if where else each.text)
        lines.append(f"{severity}{' ' * (len(_GAP) - len(each.severity))}{each.code}")
        lines += [_GAP + line for line in fill(said, columns).splitlines()]
        lines += [f"{_GAP}{each.clause}"] if each.clause else []
    counts = [counted(sum(each.severity == kind for each in found), kind) for kind in SEVERITIES]
    spread = f"{min(tokens.values())} to {max(tokens.values())}"
    spoken = " and ".join(eras) or "no revision"
    lines.append(
        f"{spoken}: {counted(tools, 'tool')}, {spread} tokens in a request; {', '.join(counts)}"
    )
    return "\n".join(lines)


def _junit(found: Sequence[Finding], failing: Sequence[Finding]) -> str:
    """Return the findings as JUnit XML: a test case for each code."""
    lines = []
    for code, (severity, meaning) in CODES.items():
        names = f"classname={_attribute(severity)} name={_attribute(f'{code}: {meaning}')}"
        lines.append(f"<testcase {names}>")
        for each in found:
            if each.code == code:
                text = _attribute(f"{each.where}: {each.text} {each.clause}".strip(": "))
                is_failure = each in failing
                lines.append(f"<{'failure' if is_failure else 'skipped'} message={text}/>")
        lines.append("</testcase>")
    failures = len({each.code for each in failing})
    head = f'<testsuite name="mcpclient check" tests="{len(CODES)}" failures="{failures}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *lines, "</testsuite>", ""])


def _attribute(text: str) -> str:
    return quoteattr(_UNSAFE_XML.sub("?", text))

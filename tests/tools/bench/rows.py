"""The rows of the table, as data: the operation, how often it runs, and the values read from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Answer = Mapping[str, float]
Measures = tuple["Measure", ...]
MEGABYTE = 1_000_000
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Measure:
    """One number read from the answer of a worker."""

    key: str
    unit: str
    value: Callable[[Answer, Row], float]
    higher_is_better: bool = False
    digits: int = 1

    def speed(self, value: float, reference: float) -> float | None:
        """The factor by which the value is better than the reference; None where neither says."""
        better, worse = (value, reference) if self.higher_is_better else (reference, value)
        return better / worse if better > 0 and worse > 0 else None


@dataclass(frozen=True)
class Row:
    """One line of orders to every worker.

    `count` None means: so many that a round takes the time the settings give it.
    """

    key: str
    title: str
    operation: str
    transport: str
    measures: tuple[Measure, ...]
    count: int | None = None
    quick_count: int | None = None
    size: int = 0
    tools: int = 3
    era: str = "auto"
    in_quick: bool = True
    heavy: bool = False
    fresh_worker: bool = False
    authorized: bool = False
    proxy: str = ""
    """The stdio server between: ``relay``, ``bridge``, ``gateway``, ``fastmcp``, ``mcp-remote``."""
    server: str = ""
    """A server by an official SDK in place of the neutral one, see `processes.SDK_SERVERS`."""

    @property
    def is_special(self) -> bool:
        """Whether the operation is of one library only; others answer that they have none."""
        return self.operation.startswith(("manager", "blocking", "sandbox", "audit"))

    @property
    def opens(self) -> bool:
        """Whether the operation runs on a connection opened before it."""
        return (
            self.operation not in ("connect", "servers", "import", "first", "command-line")
            and not self.is_special
        )


RATE = Measure("rate", "calls/s", lambda answer, row: answer["count"] / answer["seconds"], True, 0)
NOTES = Measure("rate", "/s", lambda answer, row: answer["count"] / answer["seconds"], True, 0)
MILLISECONDS = Measure("time", "ms", lambda answer, row: 1e3 * answer["seconds"] / answer["count"])
SECONDS = Measure("time", "s", lambda answer, row: answer["seconds"] / answer["count"], digits=3)
CPU = Measure("cpu", "s CPU", lambda answer, row: answer["cpu"] / answer["count"], digits=3)
CPU_MICROSECONDS = Measure(
    "cpu", "µs CPU each", lambda answer, row: 1e6 * answer["cpu"] / answer["count"]
)
CPU_MILLISECONDS = Measure("cpu", "ms CPU", lambda answer, row: 1e3 * answer["cpu"])
NAME_CPU = Measure("name_cpu", "ms CPU by name", lambda answer, row: 1e3 * answer["name_cpu"])
NAME_MEMORY = Measure(
    "name_memory", "MiB by name", lambda answer, row: answer["name_memory"] / MEBIBYTE
)
PEAK = Measure(
    "peak",
    "x payload",
    lambda answer, row: (answer["peak"] - answer["baseline"]) / row.size,
    digits=2,
)
SECONDS_ALL = Measure("time", "s for all", lambda answer, row: answer["seconds"], digits=2)
CPU_ALL = Measure("cpu", "s CPU for all", lambda answer, row: answer["cpu"], digits=2)
MORE_BLOCKING = Measure("more", "µs CPU more", lambda answer, row: 1e6 * answer["more"])
MORE_START = Measure("more", "ms more", lambda answer, row: 1e3 * answer["more"])
TIMES_BARE, TIMES_PLAIN, TIMES_LINE = (
    Measure("times", f"x of {what}", lambda answer, row: answer["times"], digits=2)
    for what in ("a bare task", "a plain call", "a bare line")
)
BY_RUN = Measure("run", "µs CPU by asyncio.run", lambda answer, row: 1e6 * answer["run"])
MORE = Measure("more", "µs CPU more", lambda answer, row: 1e6 * answer["more"], digits=2)
RESIDENT = Measure("memory", "MiB", lambda answer, row: answer["memory"] / MEBIBYTE)
KEPT = Measure(
    "kept", "MiB kept", lambda answer, row: (answer["memory"] - answer["baseline"]) / MEBIBYTE
)
EACH = Measure("each", "KiB each", lambda answer, row: answer["memory"] / answer["count"] / 1024)
# In processor time, for both are measured once, and whatever else runs would show as a difference.
LATER = Measure(
    "later", "x the CPU", lambda answer, row: answer["cpu"] / max(answer["early"], 1e-6), digits=2
)

CALLS = (RATE, CPU_MICROSECONDS)
PAYLOAD = (SECONDS, CPU, PEAK)
FIRST = (MILLISECONDS, CPU_MILLISECONDS, RESIDENT)
COMMAND_LINE = (MILLISECONDS, CPU_MILLISECONDS)


def _alone(
    key: str, title: str, operation: str, transport: str, measures: Measures, **more: Any
) -> Row:
    """A row whose workers have done nothing before it."""
    return Row(key, title, operation, transport, measures, fresh_worker=True, **more)


def _endurance(
    key: str,
    title: str,
    operation: str,
    transport: str,
    measures: Measures,
    count: int,
    **more: Any,
) -> Row:
    return _alone(key, title, operation, transport, measures, count=count, heavy=True, **more)


def _payload(key: str, title: str, transport: str, megabytes: int, **more: Any) -> Row:
    operation, size = more.pop("operation", "payload"), megabytes * MEGABYTE
    return _alone(key, title, operation, transport, PAYLOAD, count=1, size=size, **more)


def _command_line(key: str, what: str) -> Row:
    return Row(key, f"command line, {what}", "command-line", "none", COMMAND_LINE, 1)


ROWS = (
    Row("stdio-sequence", "stdio, one after another", "sequence", "stdio", CALLS),
    *(
        Row(f"{proxy}-stdio", f"stdio, through a {what}", "sequence", "stdio", CALLS, proxy=proxy)
        for proxy, what in (("relay", "program that only copies bytes"), ("bridge", "bridge"))
    ),
    *(
        Row(f"{proxy}-http", f"HTTP JSON, {through}", "sequence", "json", CALLS, proxy=proxy)
        for proxy, through in (
            ("bridge", "through a bridge"),
            ("gateway", "through a gateway of one server"),
            ("fastmcp", "through fastmcp's proxy"),
            ("mcp-remote", "through mcp-remote"),
        )
    ),
    *(
        Row(
            f"{sdk}-{proxy or 'direct'}",
            f"stdio, a server by {title}{through}",
            "sequence",
            "stdio",
            CALLS,
            proxy=proxy,
            server=sdk,
        )
        for sdk, title in (("mcp", "the Python SDK"), ("typescript", "the TypeScript SDK"))
        for proxy, through in (
            ("", ""),
            ("bridge", ", through a bridge"),
            ("gateway", ", through a gateway of one server"),
            ("fastmcp", ", through fastmcp's proxy"),
        )
    ),
    Row("stdio-100", "stdio, 100 at once", "together", "stdio", CALLS),
    Row("stdio-batch", "stdio, 100 at once in one call of the API", "batch", "stdio", CALLS),
    Row("json-sequence", "HTTP JSON, one after another", "sequence", "json", CALLS),
    Row(
        "json-handshake",
        "HTTP JSON, the same in 2025-11-25",
        "sequence",
        "json",
        CALLS,
        era="handshake",
    ),
    Row(
        "json-authorized",
        "HTTP JSON, the same with a token asked for each time",
        "sequence",
        "json",
        CALLS,
        authorized=True,
    ),
    Row(
        "json-counted",
        "HTTP JSON, the same with a new header in each answer",
        "sequence",
        "json/counted",
        CALLS,
    ),
    Row("json-100", "HTTP JSON, 100 at once", "together", "json", CALLS),
    Row("sse-sequence", "HTTP SSE, one after another", "sequence", "stream", CALLS),
    Row(
        "notifications",
        "stdio, notifications to a handler",
        "notifications",
        "stdio",
        (NOTES, CPU_MICROSECONDS),
        100_000,
        quick_count=10_000,
        era="handshake",
    ),
    Row("ws-sequence", "WebSocket, one after another", "sequence", "ws", CALLS),
    Row("ws-100", "WebSocket, 100 at once", "together", "ws", CALLS),
    Row("stdio-connect", "stdio, connect to first answer", "connect", "stdio", (MILLISECONDS,), 3),
    Row("json-connect", "HTTP, connect to first answer", "connect", "json", (MILLISECONDS,), 10),
    _payload("stdio-10mb", "stdio, a 10 MB result", "stdio", 10),
    _payload("json-10mb", "HTTP JSON, a 10 MB result", "json", 10),
    _payload("stdio-64mb", "stdio, a 64 MB result", "stdio", 64, in_quick=False),
    _payload("json-64mb", "HTTP JSON, a 64 MB result", "json", 64, in_quick=False),
    _payload("ws-64mb", "WebSocket, a 64 MB result", "ws", 64, in_quick=False),
    _payload(
        "ws-64mb-masked",
        "WebSocket, a 64 MB argument, masked",
        "ws",
        64,
        operation="argument",
        in_quick=False,
    ),
    Row(
        "import",
        "import of the package and of connect",
        "import",
        "none",
        (NAME_CPU, NAME_MEMORY, CPU_MILLISECONDS, RESIDENT),
        1,
    ),
    Row(
        "import-http",
        "import of what a client over HTTP needs",
        "import",
        "none",
        (CPU_MILLISECONDS, RESIDENT),
        1,
    ),
    _command_line("version", "--version"),
    _command_line("help", "--help"),
    _command_line("tools", "tools of a server"),
    _command_line("session", "a call in a session that stays"),
    Row(
        "first-stdio",
        "stdio, a program from its start to its first answer",
        "first",
        "stdio",
        FIRST,
        1,
    ),
    Row(
        "first-json",
        "HTTP, a program from its start to its first answer",
        "first",
        "json",
        FIRST,
        1,
    ),
    _payload("sse-64mb", "HTTP SSE, a 64 MB result", "stream", 64, heavy=True),
    _endurance(
        "calls-100000", "stdio, a call after 100,000 calls", "late", "stdio", (LATER,), 100_000
    ),
    _endurance(
        "tools-10000",
        "stdio, a call after listing 10,000 tools",
        "tools",
        "stdio",
        (LATER,),
        4_000,
        tools=10_000,
    ),
    _endurance(
        "in-flight-10000", "stdio, 10,000 at once", "in-flight", "stdio", (RATE, KEPT), 10_000
    ),
    _endurance(
        "servers-200",
        "stdio, 200 servers from one process",
        "servers",
        "stdio",
        (MILLISECONDS, EACH),
        200,
    ),
    _endurance(
        "sessions-1000",
        "HTTP, 1,000 sessions in one process",
        "servers",
        "json",
        (MILLISECONDS, EACH),
        1000,
        era="handshake",
    ),
    _endurance(
        "ws-1000",
        "WebSocket, 1,000 connections in one process",
        "servers",
        "ws",
        (MILLISECONDS, EACH),
        1000,
    ),
    _endurance(
        "manager-stdio-200",
        "stdio, 200 servers in a manager",
        "manager",
        "stdio",
        (SECONDS_ALL, CPU_ALL, EACH),
        200,
    ),
    _endurance(
        "manager-json-200",
        "HTTP JSON, 200 servers in a manager",
        "manager",
        "json",
        (SECONDS_ALL, CPU_ALL, EACH),
        200,
    ),
    _alone(
        "manager-call",
        "stdio, what a call costs more in a manager",
        "manager-call",
        "stdio",
        (MORE, TIMES_PLAIN),
        count=20_000,
        quick_count=2_000,
    ),
    _alone(
        "blocking-call",
        "stdio, what a blocking call costs more",
        "blocking-call",
        "stdio",
        (MORE_BLOCKING, TIMES_BARE, BY_RUN),
        count=5_000,
        quick_count=500,
    ),
    _alone(
        "sandbox-start",
        "stdio, what a start costs more in a sandbox",
        "sandbox-start",
        "stdio",
        (MORE_START,),
        count=15,
        quick_count=3,
    ),
    _alone(
        "audit-call",
        "stdio, what a line of an audit log costs a call",
        "audit-call",
        "stdio",
        (MORE, TIMES_LINE),
        count=5_000,
        quick_count=1_000,
    ),
    _alone(
        "manager-tools",
        "10,000 tools of 100 servers in one list",
        "manager-tools",
        "stdio",
        (CPU_MILLISECONDS,),
        count=10_000,
    ),
)

"""The requests to each reference server, as data. Answers are the same whenever they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.comparing import Allowance
from mcpclient.protocol.negotiation import HANDSHAKE_VERSIONS, LATEST_STATELESS

Call = tuple[str, dict[str, Any]]
Completion = tuple[str, str, str]
"""A prompt, one of its arguments, and what has been typed of it."""


@dataclass(frozen=True)
class Plan:
    """One server, what it is asked, and the revisions in which it is met, newest first."""

    server: str
    revisions: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    reads: tuple[str, ...] = ()
    gets: tuple[Call, ...] = ()
    completions: tuple[Completion, ...] = ()
    needs: str = ""
    """A program that the server runs, and that has to be on PATH."""
    also: tuple[str, ...] = ()
    """Environments the server needs beside its own."""


STATELESS = LATEST_STATELESS
NEWEST_FIRST = tuple(reversed(HANDSHAKE_VERSIONS))
HANDSHAKE = NEWEST_FIRST[:1]

THOUGHT = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
TYPESCRIPT_CALLS: tuple[Call, ...] = (
    ("echo", {"text": "Grüße, 世界, 👋, \u2028"}),
    ("add", {"a": 1.5, "b": -3}),
    ("fail", {}),
    ("refuse", {}),
    ("crash", {}),
    ("count", {"steps": 3}),
    ("no-such-tool", {}),
)
WS = "node-websocket"
CAT = {"name": "cat", "entityType": "animal", "observations": ["purrs", "schläft"]}


def plans(folder: Path, page: str) -> Iterator[Plan]:
    """Yield every plan, for a working folder (see `conformance.live`) and the URL of a page."""
    for transport in ("stdio", "http", "sse"):
        yield _everything(f"everything-{transport}")
    yield Plan(
        "filesystem",
        HANDSHAKE,
        arguments=(str(folder / "files"),),
        calls=(
            ("list_directory", {"path": str(folder / "files")}),
            ("read_text_file", {"path": str(folder / "files" / "text.txt")}),
            ("read_text_file", {"path": str(folder / "files" / "missing.txt")}),
            ("read_text_file", {"path": str(folder)}),
        ),
    )
    yield Plan(
        "memory",
        HANDSHAKE,
        environment={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        calls=(
            ("create_entities", {"entities": [CAT]}),
            ("search_nodes", {"query": "purrs"}),
            ("delete_entities", {"entityNames": ["cat"]}),
            ("read_graph", {}),
        ),
        reads=("memory://knowledge-graph",),
    )
    yield Plan("sequential-thinking", HANDSHAKE, calls=(("sequentialthinking", THOUGHT),))
    for name, revisions in (
        ("time", (STATELESS, *HANDSHAKE)),
        ("time-mcp-1.8", ("2024-11-05",)),
        ("time-mcp-1.9", ("2025-03-26", "2024-11-05")),
    ):
        calls = (("convert_time", NOON), ("convert_time", {**NOON, "time": "noon"}))
        yield Plan(name, revisions, calls=calls)
    repository = {"repo_path": str(folder / "repository")}
    yield Plan(
        "git",
        (STATELESS, *HANDSHAKE),
        needs="git",
        calls=(
            ("git_status", repository),
            ("git_log", repository),
            ("git_show", {**repository, "revision": "HEAD"}),
            ("git_show", {**repository, "revision": "nowhere"}),
        ),
    )
    yield Plan(
        "fetch",
        (STATELESS, *HANDSHAKE),
        arguments=("--allow-private-ips",),
        calls=(("fetch", {"url": page}), ("fetch", {"url": f"{page}missing"})),
        gets=(("fetch", {"url": page}),),
    )
    for transport in ("stdio", "http", "sse", "ws"):
        yield _typescript1(f"sdk1-{transport}")
    for transport in ("stdio", "http"):
        yield _typescript2(f"sdk2-{transport}")
    for name, server in peers.SERVERS.items():
        # Those that want a login are met in `conformance.authorized`.
        if "conformance.servers." in " ".join(server.arguments) and "-authorized" not in name:
            yield _ours(name, server)


def _everything(name: str) -> Plan:
    return Plan(
        name,
        NEWEST_FIRST,
        calls=(
            ("echo", {"message": "Grüße, 世界, 👋, \u2028"}),
            ("get-sum", {"a": 1.5, "b": 2}),
            ("get-sum", {"a": "one"}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-annotated-message", {"messageType": "debug", "includeImage": True}),
            ("get-tiny-image", {}),
            ("get-resource-links", {"count": 2}),
            ("trigger-long-running-operation", {"duration": 0.2, "steps": 4}),
            ("no-such-tool", {}),
        ),
        reads=("demo://resource/static/document/features.md", "demo://no-such-resource"),
        gets=(
            ("simple-prompt", {}),
            ("args-prompt", {"city": "Ghent", "state": "Flanders"}),
            ("no-such-prompt", {}),
        ),
        completions=(
            ("completable-prompt", "department", ""),
            ("completable-prompt", "department", "S"),
        ),
    )


def _typescript1(name: str) -> Plan:
    """Ask the server on the TypeScript SDK 1.x, whose lists have several pages."""
    is_websocket = name.endswith("-ws")
    return Plan(
        name,
        NEWEST_FIRST if is_websocket else HANDSHAKE,
        environment={"WS": str(peers.node_module("ws", WS))} if is_websocket else {},
        also=(WS,) if is_websocket else (),
        calls=(*TYPESCRIPT_CALLS, ("contents", {}), ("nothing", {})),
        reads=("test://texts/one", "test://pixel", "test://both", "test://no/such"),
        gets=(
            ("plain", {}),
            ("letter", {"to": "Zoë", "tone": "curt"}),
            ("picture", {}),
            ("empty", {}),
            ("no-such-prompt", {}),
        ),
        completions=(("letter", "tone", ""), ("letter", "tone", "f")),
    )


def _typescript2(name: str) -> Plan:
    """Ask the server on the TypeScript SDK 2.x; some of its tools want arguments in headers."""
    query = {"region": "Zürich", "limit": 3, "dry": True, "place": {"city": "Oz"}, "sql": "a b"}
    return Plan(
        name,
        (STATELESS, *HANDSHAKE),
        calls=(*TYPESCRIPT_CALLS, ("numbers", {}), ("query", query)),
        reads=("test://texts/one", "test://no/such"),
        gets=(("letter", {"to": "Zoë"}), ("no-such-prompt", {})),
        completions=(("letter", "to", ""), ("letter", "to", "f")),
    )


def _ours(name: str, server: peers.Server) -> Plan:
    return Plan(
        name,
        _revisions(name, server),
        calls=(
            ("echo", {"text": "Grüße, 世界, 👋, \u2028"}),
            ("add", {"a": 2**53 - 1, "b": 1}),
            ("add", {"a": "one", "b": 2}),
            ("fail", {"reason": "because"}),
            ("picture", {}),
            ("count", {"steps": 3}),
            ("no_such_tool", {}),
        ),
        reads=(
            "conformance://greeting",
            "conformance://octets",
            "conformance://items/one%20two",
            "conformance://no-such-resource",
        ),
        gets=(("greet", {"name": "Zoë"}), ("no-such-prompt", {})),
    )


def _revisions(name: str, server: peers.Server) -> tuple[str, ...]:
    """Choose the revisions for one of our servers: each SDK speaks all of them on each transport.

    The newest of each era will do for fastmcp, which stands on the SDK that is met anyway, and for
    a transport in another configuration.
    """
    is_variation = server.environment == "fastmcp" or name.endswith(("-stateless", "-json"))
    handshake = HANDSHAKE if is_variation else NEWEST_FIRST
    # HTTP+SSE is a transport of 2024-11-05. The SDK 2.x would speak the stateless era over it,
    # The specification does not know it; this library makes the handshake there.
    if server.environment == "mcp1" or server.transport == "sse":
        return handshake
    return (STATELESS, *handshake)


ALLOWANCES = (
    Allowance(
        "the TypeScript SDK",
        r"prompts\[\w+\]\.arguments\[\d+\]\.title is new",
        "the schema of 1.x for the arguments of prompts drops what it does not know, titles, too",
    ),
    Allowance(
        "the Python SDK",
        r"tools\[ill_described\] is .* where the reference got None",
        "it leaves out tools with a header that has no valid name on stdio as well; only clients of"
        " Streamable HTTP have to, and the TypeScript SDK does as we do",
    ),
    Allowance(
        "the TypeScript SDK",
        r"(calls|reads|gets)\[\d+\](\.result)?\.resultType is new",
        "2.x takes the type of a stateless result off before it hands the result on",
    ),
)

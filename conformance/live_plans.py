"""What is asked of each reference server, as data. Answers are the same whenever they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import peers

Call = tuple[str, dict[str, Any]]
Completion = tuple[str, str, str]
"""A prompt, one of its arguments, and what has been typed of it."""


@dataclass(frozen=True)
class Plan:
    """One server, what it is asked, and the protocol version that both sides speak at best."""

    server: str
    version: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    reads: tuple[str, ...] = ()
    gets: tuple[Call, ...] = ()
    completions: tuple[Completion, ...] = ()
    needs: str = ""
    """A program that the server runs, and that has to be on PATH."""
    reference_mode: str = "auto"
    """``legacy`` where the reference client is to make the handshake without a probe before it."""


HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"

THOUGHT = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
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
    for name, version in (
        ("time", STATELESS),
        ("time-mcp-1.8", "2024-11-05"),
        ("time-mcp-1.9", "2025-03-26"),
    ):
        yield Plan(
            name,
            version,
            calls=(("convert_time", NOON), ("convert_time", {**NOON, "time": "noon"})),
            # This server exits on the probe, and the reference client does not start it again.
            reference_mode="legacy" if name == "time-mcp-1.8" else "auto",
        )
    repository = {"repo_path": str(folder / "repository")}
    yield Plan(
        "git",
        STATELESS,
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
        STATELESS,
        arguments=("--allow-private-ips",),
        calls=(("fetch", {"url": page}), ("fetch", {"url": f"{page}missing"})),
        gets=(("fetch", {"url": page}),),
    )
    for name, server in peers.SERVERS.items():
        # Those that want a login are met in `conformance.authorized`.
        if "conformance.servers." in " ".join(server.arguments) and "-authorized" not in name:
            yield _ours(name, server)


def _everything(name: str) -> Plan:
    return Plan(
        name,
        HANDSHAKE,
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


def _ours(name: str, server: peers.Server) -> Plan:
    # HTTP+SSE is a transport of 2024-11-05. The SDK 2.x would speak the stateless era over it,
    # which the specification does not know; this library makes the handshake there.
    has_stateless_era = server.environment != "mcp1" and server.transport != "sse"
    return Plan(
        name,
        STATELESS if has_stateless_era else HANDSHAKE,
        reference_mode="auto" if has_stateless_era else "legacy",
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

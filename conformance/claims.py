"""``python -m conformance.claims``: what the README says of the recorded sessions, counted."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

from conformance import replay
from conformance.replay.differences import DIFFERENCES
from mcpclient.recording.transcript import Transcript

# Programs of ours, all but one on the SDKs of others: they say what no other server does.
OURS = frozenset({"authorized", "fastmcp", "mcp1", "mcp2", "scripted", "sdk1", "sdk2"})

OFFICIAL = "@modelcontextprotocol/conformance"

SELF = "mcpclient=="

# The clients of other makers that sessions were recorded with, and programs that are built on one.
SDKS = ("@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "mcp==")
PROGRAMS = ("@modelcontextprotocol/inspector", "@openai/codex")

# Who makes what answers, by the beginning of its package's name.
MAKERS = {
    "@modelcontextprotocol/": "Model Context Protocol",
    "mcp": "Model Context Protocol",
    "mcp-grafana": "Grafana Labs",
    "fastmcp": "Prefect",
    "@azure/": "Microsoft",
    "@moonrepo/": "moonrepo",
    "@toolbox-sdk/": "Google",
    SELF: "",
}


@dataclass(frozen=True)
class Claims:
    """The numbers.

    ``servers``: programs, of which the official suite is one. ``makers``: of these or of the SDK
    they are built on. ``sdks``: the sessions in which an official SDK was the client.
    ``programs``: those in which a program that is built on one was. ``official``: sessions of the
    official suite, in which this library was. ``own``: those in which it was as well, judged by a
    clause of the specification. ``not_ours``: the sessions with a
    program that is not ours. ``differences``: what is accepted, by name; ``different``: the
    sessions in which something is. ``chunkings``: in how many ways each session is cut.
    """

    sessions: int
    servers: int
    makers: int
    not_ours: int
    sdks: int
    programs: int
    official: int
    own: int
    differences: int
    different: int
    chunkings: int

    def __str__(self) -> str:
        return (
            f"{self.sessions} recorded sessions with {self.servers} servers of {self.makers} "
            f"makers are replayed, {self.not_ours} of them with servers that are not ours. In "
            f"{self.sdks} the client was an official SDK, in {self.programs} a program built on "
            f"one (the Inspector's command line; Codex, in Rust); {self.official} come "
            "from the official suite, which tests this library directly, and in "
            f"{self.own} this library was the client of a scripted server, its reactions judged by "
            "the specification's text. Each is replayed in "
            f"{self.chunkings} chunkings that count once. In {self.different} of them, some of "
            f"{self.differences} [differences](conformance/replay/differences.py) are accepted, "
            "each for a stated reason."
        )


def counted() -> Claims:
    """Count."""
    sessions = replay.transcripts()
    packages = {name: _package(transcript) for name, transcript in sessions.items()}
    servers = {(_program(transcript), packages[name]) for name, transcript in sessions.items()}
    return Claims(
        sessions=len(sessions),
        servers=len(servers),
        makers=len({maker(package) for package in packages.values()} - {""}),
        not_ours=sum(_program(transcript) not in OURS for transcript in sessions.values()),
        sdks=sum(_client(transcript).startswith(SDKS) for transcript in sessions.values()),
        programs=sum(_client(transcript).startswith(PROGRAMS) for transcript in sessions.values()),
        official=sum(package.startswith(OFFICIAL) for package in packages.values()),
        own=sum("clause" in transcript.header["script"] for transcript in sessions.values()),
        differences=len(DIFFERENCES),
        different=sum(any(item.names(name) for item in DIFFERENCES) for name in sessions),
        chunkings=min(len(replay.chunkings_of(transcript)) for transcript in sessions.values()),
    )


def maker(package: str) -> str:
    """Return who makes a package. Raises KeyError for one without a named maker."""
    beginnings = [beginning for beginning in MAKERS if package.startswith(beginning)]
    return MAKERS[max(beginnings, key=len)] if beginnings else MAKERS[package]


def _package(transcript: Transcript) -> str:
    """Return the package that answers: the first that the header names, with its version."""
    return str(transcript.header["server"]["package"].splitlines()[0])


def _client(transcript: Transcript) -> str:
    return str(transcript.header["client"]["package"])


def _program(transcript: Transcript) -> str:
    """Return the sessions, without the variants of servers of ours."""
    if _package(transcript).startswith(OFFICIAL):
        return OFFICIAL
    name = str(transcript.header["server"]["name"])
    base = name.partition("-")[0]
    return base if base in OURS else name


def main() -> int:
    """Print each number, and the README's."""
    claims = counted()
    for name, number in asdict(claims).items():
        print(f"{name:12} {number}")
    print(f"\n{claims}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

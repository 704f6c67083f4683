"""The reports of the suite's parts, and their judgement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PASSED = "passed"
FAILED = "failed"
NOT_RUN = "could not run"
LEFT_OUT = "left out"
"""For what needs a program that few machines have: named, but no failure of a strict run."""

STDIO = "stdio"
STREAMABLE_HTTP = "Streamable HTTP"
LEGACY_SSE = "legacy SSE"
WEBSOCKET = "WebSocket"
TRANSPORT_OF = {"stdio": STDIO, "http": STREAMABLE_HTTP, "sse": LEGACY_SSE, "ws": WEBSOCKET}
"""By the names that the library gives them."""
TRANSPORTS = tuple(TRANSPORT_OF.values())


@dataclass(frozen=True)
class Row:
    """The outcome of one meeting of the library with a peer.

    A row has passed when something was checked and all of it held; ValueError says that it was not.
    """

    part: str
    name: str
    outcome: str
    detail: str = ""
    revision: str = ""
    """The revision of the protocol that was spoken, or would have been."""
    transport: str = ""
    """One of `TRANSPORTS`."""
    checks: int = 0
    held: int = 0
    group: str = ""
    """What rows are counted together in a table of their own, such as a set of requirements."""
    warnings: int = 0
    """How many of the checks that did not hold are only warnings."""
    skipped: int = 0
    """Cases that the peer left out, so they are not checks."""
    accepted: int = 0
    """What this library does otherwise than the peer, and for a reason: `replay.differences`."""

    def __post_init__(self) -> None:
        if self.outcome == PASSED and not 0 < self.held == self.checks:
            raise ValueError(f"{self.name}: {self.held} of {self.checks} checks is no pass")

    def __str__(self) -> str:
        text = f"{self.part:10} {self.outcome:13} {self.name}"
        return f"{text}: {self.detail}" if self.detail else text


def exit_code(rows: Iterable[Row], strict: bool) -> int:
    """Return 1 if anything failed or, when ``strict``, could not run; also if nothing passed."""
    outcomes = {row.outcome for row in rows}
    bad = {FAILED, NOT_RUN} if strict else {FAILED}
    return int(bool(outcomes & bad) or PASSED not in outcomes)

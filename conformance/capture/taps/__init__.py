"""Taps: they stand between a reference client and a server, pass on what comes and write it down.

What they saw is a list of `Seen`, whose times come from the monotonic clock, which every process
of the machine shares. A tap notes what it got before it passes it on, so the order of the times is
the order of causes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

SENT = "sent"
RECEIVED = "received"
NOTE = "note"


@dataclass
class Seen:
    """Something that passed a tap, or that the user of the client noted."""

    direction: str
    channel: str
    facts: dict[str, Any] = field(default_factory=dict)
    """What else a record says, but for the payload."""
    line: bytes | None = None
    body: bytes | None = None
    event: bytes | None = None
    nanoseconds: int = field(default_factory=time.monotonic_ns)


def with_port(data: bytes, old: int, new: int) -> bytes:
    """Change the port in addresses of the loopback interface, percent-encoded ones included."""
    for host in (b"127.0.0.1", b"localhost"):
        for colon in (b":", b"%3A"):
            data = data.replace(b"%s%s%d" % (host, colon, old), b"%s%s%d" % (host, colon, new))
    return data

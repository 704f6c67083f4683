"""Sessions made from reactions: what the server did decides what the client sends next.

The server is `conformance.capture.servers.scripted`, which does as the plan of a reaction says.
Where a client of an SDK reacts, it is the client; where none does, this library is, and what it
does is judged by the clause of the specification that stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.capture.collection.reactions import (
    caching,
    connections,
    devices,
    limits,
    lines,
    logins,
    openings,
    options,
    questions,
    rare,
    refusals,
    responses,
    resumptions,
    silences,
    stateless,
    streams,
    tasks,
    tokens,
    websockets,
)
from conformance.capture.collection.reactions.parts import Plan, Reaction
from conformance.scripts import CLIENT2, SDK1, Script

__all__ = ["REACTIONS", "SCRIPTS", "plan_of"]

REACTIONS: tuple[Reaction, ...] = (
    *openings.SESSIONS,
    *streams.SESSIONS,
    *responses.SESSIONS,
    *questions.SESSIONS,
    *stateless.SESSIONS,
    *tasks.SESSIONS,
    *logins.SESSIONS,
    *options.SESSIONS,
    *rare.SESSIONS,
    *connections.SESSIONS,
    *resumptions.SESSIONS,
    *caching.SESSIONS,
    *websockets.SESSIONS,
    *devices.SESSIONS,
    *refusals.SESSIONS,
    *tokens.SESSIONS,
    *limits.SESSIONS,
    *lines.SESSIONS,
    *silences.SESSIONS,
)

# The clients of SDKs that react over HTTP as this library does, found out by trying each. The
# others wait until they are stopped, fail, or go on as if nothing had been.
_BY_SDK = {
    CLIENT2: (
        *("probe-unknown-method", "probe-invalid-request", "probe-invalid-params"),
        *("probe-own-code", "probe-internal-error", "probe-older-ones", "probe-plain-400"),
        *("probe-plain-404", "probe-plain-405", "probe-plain-406", "probe-plain-415"),
        *("discovers-older", "discovers-nothing"),
    ),
    SDK1: (
        *("version-2024-11-05", "version-2025-03-26", "streams-hello", "answers-twice"),
        *("cut-within-event", "cut-and-503", "ends-without-answer-with-id"),
        *("own-stream-cut", "own-stream-ends", "own-stream-is-a-page", "own-stream-is-404"),
        *("own-stream-is-406", "own-stream-is-empty", "own-stream-is-500-then-there"),
        "own-stream-refused-later",
    ),
}
_DRIVERS = {name: driver for driver, names in _BY_SDK.items() for name in names}


def plan_of(name: str) -> Plan:
    """Return the plan of a server by its name without ``scripted-``."""
    return next(each.plan for each in REACTIONS if each.script.server == f"scripted-{name}")


def _scripts() -> Iterator[Script]:
    for _, script in REACTIONS:
        driver = _DRIVERS.get(script.server.partition("-")[2])
        if driver is None:
            yield script
            continue
        client = {name: value for name, value in script.client.items() if name != "offers"}
        yield replace(script, driver=driver, transports=("http",), client=client, clause="")
        if "stdio" in script.transports:
            yield replace(script, transports=("stdio",))


SCRIPTS = tuple(_scripts())

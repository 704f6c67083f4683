"""Sessions made from reactions: what the server did decides what the client sends next.

The server is `conformance.capture.servers.scripted`, which does as the plan of a reaction says.
Where a client of an SDK reacts, it is the client; where none does, this library is, and what it
does is judged by the clause of the specification that stands beside it.
"""

from __future__ import annotations

from conformance.capture.collection.reactions import (
    logins,
    openings,
    questions,
    responses,
    stateless,
    streams,
    tasks,
)
from conformance.capture.collection.reactions.parts import Plan, Reaction

__all__ = ["REACTIONS", "plan_of"]

REACTIONS: tuple[Reaction, ...] = (
    *openings.SESSIONS,
    *streams.SESSIONS,
    *responses.SESSIONS,
    *questions.SESSIONS,
    *stateless.SESSIONS,
    *tasks.SESSIONS,
    *logins.SESSIONS,
)


def plan_of(name: str) -> Plan:
    """Return the plan of a server by its name without ``scripted-``."""
    return next(each.plan for each in REACTIONS if each.script.server == f"scripted-{name}")

"""Random calls: what each asks of the server, when it is given up, and what may come of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mcpclient import CallToolResult
from mcpclient.errors import CallTimeout, ClientClosed, NetworkError, ServerError, ServerUnavailable

OUTCOMES = ("result", "error", "timeout", "cancelled", "lost", "closed")
"""A call ends in exactly one of them."""

# How often which act is drawn. Those that end a connection are rare: they cost all other calls.
_WEIGHTS = {
    "echo": 300,
    "delay": 60,
    "big": 20,
    "progress": 40,
    "notify": 40,
    "ask": 30,
    "task": 30,
    "fail": 15,
    "error": 15,
    "garbage": 10,
    "twice": 10,
    "resume": 10,
    "never": 12,
    "busy": 6,
    "block": 4,
    "forget": 3,
    "then drop": 4,
    "drop": 2,
    "drop after": 3,
    "half": 3,
    "die": 1,
    "die after": 2,
    "hang": 1,
}
_ACTS, _CUMULATIVE = list(_WEIGHTS), [*_WEIGHTS.values()]
for _index in range(1, len(_CUMULATIVE)):
    _CUMULATIVE[_index] += _CUMULATIVE[_index - 1]

# What cannot end well, so that a result would be another call's.
_WITHOUT_RESULT = frozenset({"never", "hang", "die", "die after", "drop", "busy", "error"})


@dataclass(frozen=True)
class Call:
    """One call. ``cancelled_after``: seconds until its task is cancelled; None: never."""

    token: str
    act: str
    timeout: float
    max_timeout: float
    cancelled_after: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the tool."""
        return {"token": self.token, "act": self.act, **self.more}

    @property
    def limit(self) -> float:
        """Seconds within which the call has to have its outcome."""
        limit = self.max_timeout
        return limit if self.cancelled_after is None else min(limit, self.cancelled_after)


def random_call(random: Random, token: str) -> Call:
    """Draw a call."""
    act = random.choices(_ACTS, cum_weights=_CUMULATIVE)[0]
    timeout = random.uniform(0.2, 1.0) if act in ("never", "hang") else random.uniform(1.0, 3.0)
    more = {
        "seconds": random.choice((0, 0.001, 0.02, 0.2)),
        "count": random.randrange(1, 30),
        "size": random.choice((1_000, 100_000, 1_000_000)),
        "asks": random.choice(("roots/list", "elicitation/create")),
    }
    cancelled_after = random.choice((0.0, 0.001, 0.01, 0.1)) if random.random() < 0.1 else None
    return Call(token, act, timeout, timeout * 1.5, cancelled_after, more)


def outcome_of(task: asyncio.Task[CallToolResult], call: Call) -> tuple[str, str]:
    """Return the outcome of a call that has ended, and its fault, if it has one."""
    if task.cancelled():
        wrong = "" if call.cancelled_after is not None else "was cancelled by nobody"
        return "cancelled", wrong
    error = task.exception()
    if error is None:
        return "result", _problem_of(task.result(), call)
    if isinstance(error, (ClientClosed, ServerUnavailable)):
        return "closed", ""
    if isinstance(error, CallTimeout):
        return "timeout", ""
    if isinstance(error, NetworkError):
        return "lost", ""
    if isinstance(error, ServerError):
        return "error", ""
    return "error", f"ended with {error!r}"


def _problem_of(result: CallToolResult, call: Call) -> str:
    token = result.text.partition(":")[0]
    if token != call.token:
        return f"has the result of {token}: {result.text[:100]!r}"
    if call.act in _WITHOUT_RESULT:
        return "has a result that the server never sent"
    if call.act == "big" and len(result.text) != len(token) + 1 + call.more["size"]:
        return f"has a result of {len(result.text)} characters"
    return ""

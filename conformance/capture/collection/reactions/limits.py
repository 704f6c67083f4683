"""Limits of time: which one counts where several are given, and what no limit ends."""

from __future__ import annotations

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    LIST_TOOLS,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    reaction,
)
from conformance.scripts import Step

_TIMEOUTS = (
    "Lifecycle, Timeouts: requests SHOULD have limits, per request where the user says so, and "
    "are cancelled at their end."
)
_AFTER_A_PING = Reply(events=(Await("ping"), ANSWER))

_AFTER_ALL = Reply(events=(Await("tools/call", 3), ANSWER))
_NEVER = Reply(events=(Await("never"),))
_CANCELLED = (
    "Cancellation: a client cancels requests of its own that are in progress, each by its id."
)

_BY_METHOD: Step = {"do": "request", "params": {"name": "echo", "arguments": {}}}

SESSIONS: tuple[Reaction, ...] = (
    reaction(
        "limited-by-the-tool-by-method",
        _TIMEOUTS,
        Plan({"tools/call": (_NEVER, USUAL), "prompts/get": (_NEVER, USUAL)}),
        {**_BY_METHOD, "method": "tools/call"},
        {**_BY_METHOD, "method": "prompts/get"},
        {**_BY_METHOD, "method": "tools/call"},
        client={
            "connect_timeout": 10,
            "options": {"limits": {"timeouts": {"ec*": 0.3}}, "timeout": 0.9},
        },
        transports="stdio http",
    ),
    *(
        reaction(
            f"called-together-and-cancelled{name}",
            _CANCELLED,
            Plan(
                {"tools/call": (_AFTER_ALL, Reply(events=(Await("never"),)))},
                is_stateless=is_stateless,
                has_session=not is_stateless,
            ),
            {
                "do": "call_tools",
                "calls": [["echo", {"text": each}] for each in ("one", "two", "three")],
                "cancelled_after": 0.6,
            },
            PING if not is_stateless else LIST_TOOLS,
            transports="stdio http",
        )
        for name, is_stateless in (("", False), ("-statelessly", True))
    ),
    *(
        reaction(
            f"limited-{name}",
            _TIMEOUTS,
            Plan({"tools/call": (reply, USUAL)}),
            {**HELLO, **given},
            PING,
            HELLO,
            client={"keep_alive": 0.75, "connect_timeout": 10, "options": options},
            transports="stdio http",
        )
        for name, reply, given, options in (
            (
                "by-the-tool-beyond-the-total",
                Reply(events=(Await("never"),)),
                {},
                {"limits": {"timeouts": {"ec*": 0.6}}, "max_timeout": 0.1},
            ),
            (
                "by-the-tool-below-the-total",
                Reply(events=(Await("never"),)),
                {},
                {"limits": {"timeouts": {"ec*": 0.1}}, "max_timeout": 0.7, "timeout": 5},
            ),
            (
                "by-no-tool",
                Reply(events=(Await("never"),)),
                {},
                {"limits": {"timeouts": {"x*": 0.1}}, "timeout": 0.6},
            ),
            (
                "by-the-tool-to-nothing",
                _AFTER_A_PING,
                {},
                {"limits": {"timeouts": {"ec*": 0}}, "timeout": 0.1, "max_timeout": 0.1},
            ),
            (
                "by-the-call-beyond-the-tool",
                Reply(events=(Await("never"),)),
                {"timeout": 0.6},
                {"limits": {"timeouts": {"ec*": 0.1}}},
            ),
            ("by-the-call-to-nothing", _AFTER_A_PING, {"timeout": 0, "total": 0}, {"timeout": 0.1}),
        )
    ),
)

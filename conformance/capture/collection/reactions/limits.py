"""Limits of time: which one counts where several are given, and what no limit ends."""

from __future__ import annotations

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    reaction,
)

_TIMEOUTS = (
    "Lifecycle, Timeouts: requests SHOULD have limits, per request where the user says so, and "
    "are cancelled at their end."
)
_AFTER_A_PING = Reply(events=(Await("ping"), ANSWER))

SESSIONS: tuple[Reaction, ...] = (
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

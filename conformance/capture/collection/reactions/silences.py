"""Answers that never come, and sessions that end while calls wait for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.capture.collection.reactions.parts import (
    AGAIN,
    ANSWER,
    GONE,
    HELLO,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    asked,
    plain,
    reaction,
    told,
)
from conformance.capture.collection.reactions.stateless import stateless
from conformance.scripts import HANDSHAKE, Step

_NEVER = Reply(events=(Await("never"),))
_STRANGERS: tuple[Any, ...] = (1, 77, "seven", 78, 79)
_BOTH: Step = {"do": "together", "steps": [HELLO, HELLO]}
_ONE: Step = {"do": "call_tools", "calls": [["echo", {"text": "one"}]], "cancelled_after": 0.6}

_LOST: tuple[Reaction, ...] = (
    *(
        reaction(
            f"loses-a-session-{name}",
            AGAIN,
            Plan({"tools/call": (GONE, USUAL), "initialize": (USUAL, _NEVER, USUAL)}),
            call,
            client={"options": {"max_timeout": 3}},
        )
        for name, call in (
            ("and-waits-until-cancelled", _ONE),
            ("and-waits-for-a-while", {**HELLO, "total": 0.6}),
        )
    ),
    reaction(
        "loses-a-session-of-two-calls",
        AGAIN,
        Plan(
            {
                "tools/call": (*[replace(GONE, after=Await("tools/call", 2))] * 2, USUAL),
                "initialize": (USUAL, plain(500, "No"), USUAL),
            }
        ),
        _BOTH,
        HELLO,
        PING,
    ),
    reaction(
        "loses-a-session-of-an-older-revision",
        AGAIN,
        Plan({"tools/call": (GONE, USUAL)}, version="2025-06-18"),
        HELLO,
        PING,
        revision="2025-06-18",
        client={"offers": HANDSHAKE, "options": {"strict_version": False}},
    ),
    *(
        reaction(
            f"says-in-odd-letters-that-a-session-is-{name}",
            AGAIN,
            Plan({"tools/call": (USUAL, Reply(400, {"Content-Type": "text/plain"}, body=text))}),
            HELLO,
            HELLO,
            PING,
        )
        for name, text in (("gone", b"\xff no such session"), ("fine", b"\xff sessile"))
    ),
)

_VISITED: Step = {"do": "wait_for", "method": "notifications/elicitation/complete", "count": 4}


def _visit(number: int) -> dict[str, Any]:
    where = {"mode": "url", "message": "Go", "url": "https://example.com/"}
    return asked(number, "elicitation/create", **where, elicitationId=f"visit-{number}")


def _complete(number: int) -> dict[str, Any]:
    return told("notifications/elicitation/complete", elicitationId=f"visit-{number}")


SESSIONS: tuple[Reaction, ...] = (
    *_LOST,
    reaction(
        "completes-visits",
        "Elicitation: a client MUST ignore the completion of what it does not know, or is over.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        events=(
                            *(_visit(7), Await("answer"), _visit(8), Await("answer", 2)),
                            *(_complete(8), _complete(9), _complete(7), _complete(7)),
                            ANSWER,
                        )
                    ),
                )
            }
        ),
        HELLO,
        _VISITED,
        client={
            "capabilities": {"elicitation": {"url": {}}},
            "elicitation": [{"action": "accept"}, {"action": "decline"}],
            "tells_completion": True,
        },
        transports="stdio http",
    ),
    reaction(
        "answers-none-but-strangers",
        "JSON-RPC 2.0, 5: a response has the id of its request; others answer nothing.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        events=(
                            *({"jsonrpc": "2.0", "id": id, "result": {}} for id in _STRANGERS),
                            Await("never"),
                        )
                    ),
                    USUAL,
                )
            }
        ),
        {**HELLO, "timeout": 0.4},
        HELLO,
        transports="stdio http",
    ),
    reaction(
        "asks-for-an-action",
        "Elicitation: content is what the form asks for, whatever its fields are called.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        events=(
                            asked(
                                7,
                                "elicitation/create",
                                message="What?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {"action": {"type": "string"}},
                                },
                            ),
                            Await("answer"),
                            ANSWER,
                        )
                    ),
                )
            }
        ),
        HELLO,
        client={
            "capabilities": {"elicitation": {"form": {}}},
            "elicitation": [{"action": "accept", "content": {"action": "decline"}}],
        },
        transports="stdio http",
    ),
    stateless(
        "asks-for-nothing-again-and-again",
        "MRTR: requestState goes back as it came; a request without inputs may be sent again.",
        {
            "tools/call": (
                *(
                    Reply(result={"resultType": "input_required", "requestState": state})
                    for state in ("one", "two", "three", "four", "five")
                ),
                USUAL,
            )
        },
        HELLO,
    ),
)

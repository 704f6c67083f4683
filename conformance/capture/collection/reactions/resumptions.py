"""Streams that are opened again: refused, late, or of a session that is lost."""

from __future__ import annotations

import json

from conformance.capture.collection.reactions.parts import (
    AGAIN,
    ANSWER,
    DROPPED,
    GONE,
    HELLO,
    LOG,
    PING,
    RESOURCES_CHANGED,
    RESUMES,
    TOOLS_CHANGED,
    USUAL,
    Await,
    Plan,
    Reaction,
    Told,
    plain,
    reaction,
    stream,
    wait,
)
from conformance.capture.collection.reactions.questions import WHO_IS_IT
from conformance.capture.collection.reactions.stateless import USER

_LATER = {"jsonrpc": "2.0", "id": 2, "result": {"content": []}}
_PRIMED = "id: event-1\nretry: 50\ndata: \n\n"


_LONG = "x" * 2001
_LIMITED = {"options": {"max_message_size": 2000}}
_BEGUN = "id: event-1\nretry: 50\n"

SESSIONS: tuple[Reaction, ...] = (
    *(
        reaction(
            f"own-stream-{name}",
            "Streamable HTTP, Listening for Messages: a stream that breaks MAY be opened again; "
            "an event over the limit is no message, and others follow it.",
            Plan({"GET": replies}),
            wait("tools/list_changed"),
            HELLO,
            client=_LIMITED,
        )
        for name, replies in (
            ("is-dropped-at-first", (DROPPED, stream(TOOLS_CHANGED, Await("DELETE")))),
            (
                "says-too-much",
                (
                    stream(
                        f"data: {_LONG}\ndata: {json.dumps(RESOURCES_CHANGED)}\n\n",
                        TOOLS_CHANGED,
                        Await("DELETE"),
                    ),
                ),
            ),
        )
    ),
    *(
        reaction(
            f"cut-after-{name}",
            f"{RESUMES} What cannot be read is the answer, and has no rest.",
            Plan({"tools/call": (stream(event, cut=True), USUAL), "GET": (plain(405), USUAL)}),
            HELLO,
            {"do": "pause", "seconds": 0.6},
            HELLO,
            client=_LIMITED,
        )
        for name, event in (
            ("too-much", f"{_BEGUN}data: {_LONG}\n\n"),
            ("too-much-in-two-lines", f"{_BEGUN}data: {_LONG}\ndata: {_LONG}\n\n"),
            ("no-json", f"{_BEGUN}data: not json\n\n"),
            ("a-list", f"{_BEGUN}data: [1]\n\n"),
        )
    ),
    *(
        reaction(
            f"own-stream-later-{name}",
            "Streamable HTTP, Listening for Messages, Session Management: 404 ends a session; "
            "what else ends its own stream does not.",
            Plan(
                {
                    "GET": (
                        stream("retry: 50\n\n", TOOLS_CHANGED, Await("notifications/initialized")),
                        reply,
                        stream(TOOLS_CHANGED, Await("DELETE" if has_session else "tools/call")),
                    )
                },
                has_session=has_session,
            ),
            wait("tools/list_changed"),
            {"do": "pause", "seconds": 0.3},
            PING,
            HELLO,
        )
        for name, reply, has_session in (
            ("speaks-of-the-session", plain(400, "No valid session ID provided"), True),
            ("is-a-bad-request", plain(400, "Bad Request"), True),
            ("is-404-without-session", plain(404), False),
            ("is-forbidden", plain(403), True),
            ("is-a-page", plain(200, "Hello"), True),
        )
    ),
    reaction(
        "own-stream-is-wanted-again",
        "Streamable HTTP, Listening for Messages: a client MAY open the stream again.",
        Plan(
            {
                "GET": (
                    stream("retry: 50\n\n", TOOLS_CHANGED, Await("notifications/initialized")),
                    plain(403),
                    stream(Await("tools/call"), TOOLS_CHANGED, Await("DELETE")),
                )
            }
        ),
        wait("tools/list_changed"),
        {"do": "pause", "seconds": 0.3},
        PING,
        {
            "do": "listen",
            "tools": True,
            "steps": (HELLO,),
            "until": {"method": "notifications/tools/list_changed", "count": 2},
        },
    ),
    *(
        reaction(
            f"resumes-and-{name}",
            RESUMES,
            Plan({"tools/call": (first, USUAL), "GET": (USUAL, *got)}),
            HELLO,
            HELLO,
            client=USER,
        )
        for name, first, got in (
            (
                "repeats",
                stream(_PRIMED, Told("id: event-2\n", WHO_IS_IT), Await("answer"), cut=True),
                (stream(Told("id: event-2\n", WHO_IS_IT), Told("id: event-3\n")),),
            ),
            (
                "asks-meanwhile",
                stream(_PRIMED, Told("id: event-2\n", WHO_IS_IT), cut=True),
                (stream(Await("answer"), Told("id: event-3\n")),),
            ),
            (
                "names-no-event",
                stream(_PRIMED, cut=True),
                (stream(LOG, cut=True), stream(Told("id: event-2\n"))),
            ),
            (
                "goes-on-after-an-empty-id",
                stream(_PRIMED, Told("id: event-2\n", LOG), "id\ndata: \n\n", cut=True),
                (stream(ANSWER),),
            ),
            (
                "has-a-long-id",
                stream(_PRIMED, f"id: {'x' * 8193}\ndata: \n\n", cut=True),
                (stream(Told("id: event-3\n")),),
            ),
            ("is-dropped", stream(_PRIMED, cut=True), (DROPPED, stream(Told("id: event-3\n")))),
            ("is-dropped-twice", stream(_PRIMED, cut=True), (DROPPED, DROPPED, DROPPED)),
            (
                "brings-ids-alone",
                stream(_PRIMED, cut=True),
                (
                    *(stream(f"id: {n}\nretry: 20\ndata: \n\n", cut=True) for n in range(8)),
                    stream(Told("id: event-3\n")),
                ),
            ),
            ("brings-nothing", stream(_PRIMED, cut=True), (stream("retry: 20\n\n"),)),
            ("brings-other-events", stream(_PRIMED, cut=True), (stream("id: 1\n\n", LOG),)),
            (
                "wants-to-wait",
                stream("id: event-1\nretry: 700\ndata: \n\n", cut=True),
                (stream("retry: 1200\n\n"), stream(Told("id: event-2\n"))),
            ),
        )
    ),
    *(
        reaction(
            f"loses-a-session-{name}",
            f"{AGAIN} {clause}",
            Plan(
                {
                    "tools/call": (first, USUAL),
                    "GET": (USUAL, stream(Await("ping", 2), Told("id: event-2\n", _LATER))),
                    "ping": (GONE, GONE, USUAL),
                }
            ),
            HELLO,
            HELLO,
            client={**USER, "keep_alive": 0.35, "elicitation": [{"never": True}]},
        )
        for name, first, clause in (
            (
                "that-asks",
                stream(WHO_IS_IT, Await("never")),
                "A call in which the server has asked cannot go on in it.",
            ),
            (
                "while-a-stream-is-broken",
                stream("id: event-1\nretry: 600\ndata: \n\n", cut=True),
                "Another session does not have the events of a stream.",
            ),
            (
                "while-a-stream-goes-on",
                stream(_PRIMED, cut=True),
                "A stream that is open may go on all the same.",
            ),
            (
                "while-the-first-stream-goes-on",
                stream(LOG, Await("ping", 2), ANSWER),
                "A stream that is open may go on all the same.",
            ),
        )
    ),
    reaction(
        "answers-in-odd-events",
        "The HTML standard, Server-sent events: fields, line ends, and what is ignored.",
        Plan(
            {
                "tools/call": (
                    stream("\ufeff:ok\n\n", "event:message\r\n", Told("id:1\nretry:007\n")),
                    stream("event: message \n", Told(""), Told("")),
                    stream("foo: bar\ndat: x\nDATA: {}\n\n", Told(" data: {}\n")),
                    stream("data: \n\n", "data\n\n", "event: x\n\n", Told("")),
                    stream('data:{"jsonrpc":"2.0",\ndata\ndata: "id":6,"result":{}}\n\n'),
                    stream("retry: -1\nretry: 1e3\nretry\nid: 2\n\n", cut=True),
                    stream("id: 3\nretry: 50\n\n", "event: y\nid: 4\ndata: x\n\n", cut=True),
                    USUAL,
                ),
                "GET": (USUAL, stream(Told("id: 5\n")), stream(Told("id: 6\n"))),
            }
        ),
        *[HELLO] * 8,
    ),
)

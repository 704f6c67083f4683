"""Event streams: how they break, end and go on."""

from __future__ import annotations

from conformance.capture.collection.reactions.parts import (
    AGAIN,
    ANSWER,
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
    Reply,
    Told,
    called,
    plain,
    reaction,
    stream,
    wait,
)

_LOST = "Streamable HTTP: a stream that ends without the answer, and without an id, cannot resume."
_OWN = (
    "Streamable HTTP, Listening for Messages: the server returns an event stream, or 405; a client "
    "MAY reconnect, and MUST respect retry."
)
_EVENTS = "HTML, Server-sent events, 9.2.5 and 9.2.6: the mark at the start, line ends, fields."
_PRIMED = "id: event-1\nretry: 100\ndata: \n\n"


def _answered(name: str, clause: str, first: Reply, *got: Reply) -> Reaction:
    """Return a session whose first call is answered in this way, and its resumptions in those."""
    replies = {"tools/call": (first, USUAL), "GET": (USUAL, *got)}
    return reaction(name, clause, Plan(replies), HELLO, {**HELLO, "progress": True}, PING)


SESSIONS: tuple[Reaction, ...] = (
    _answered(
        "cut-within-event",
        RESUMES,
        stream(_PRIMED, "id: event-2\ndata: {", cut=True),
        stream(Told("id: event-2\n")),
    ),
    _answered(
        "cut-and-503",
        RESUMES,
        stream(_PRIMED, LOG, cut=True),
        plain(503),
        stream(Told("id: event-2\n")),
    ),
    _answered("cut-and-404", RESUMES, stream(_PRIMED, cut=True), plain(404)),
    _answered("cut-and-405", RESUMES, stream(_PRIMED, cut=True), plain(405)),
    _answered("cut-and-never-again", RESUMES, stream(_PRIMED, cut=True), *[plain(500)] * 9),
    _answered(
        "cut-again-and-again",
        RESUMES,
        stream(_PRIMED, cut=True),
        stream(Told("id: event-2\n", LOG), cut=True),
        stream(Told("id: event-2\n", LOG), Told("id: event-3\nretry: 200\n", LOG), cut=True),
        stream(Told("id: event-4\n")),
    ),
    _answered("cut-and-html", RESUMES, stream(_PRIMED, cut=True), plain(200, "Hello")),
    _answered("cut-without-id", _LOST, stream(LOG, cut=True)),
    _answered("id-emptied", _LOST, stream(_PRIMED, Told("id: \n", LOG), cut=True)),
    _answered("ends-without-answer", _LOST, stream(LOG)),
    _answered(
        "ends-without-answer-with-id",
        RESUMES,
        stream(_PRIMED, LOG),
        stream("id: event-2\ndata: \n\n", ANSWER),
    ),
    _answered("cut-before-all", _LOST, stream(cut=True)),
    _answered(
        "answers-among-others",
        "Streamable HTTP: the stream holds messages; other events and fields are for others.",
        stream(
            ": a comment\n\n",
            "retry: soon\n\n",
            "id: with\0nul\n\n",
            "event: other\ndata: {}\n\n",
            'data: {"jsonrpc":"2.0","id":"stray","result":{}}\n\n',
            'data:{"jsonrpc":"2.0",\ndata:"method":"notifications/message",\r\ndata:"params":{}}\n\n',
            "data\n\n",
            Told("event: message\n"),
        ),
    ),
    called(
        "says-it-in-events-of-all-forms",
        _EVENTS,
        stream("\ufeff", ANSWER),
        stream(": nothing\r\n\r\n", "event: message\r\ndata: 5\r\n\r\n", Told("id: 1\r\n")),
        stream("data\n\n", "event: message\ndata\ndata:\n\n", Told("event:message\nid:2\n")),
        stream("retry: soon\nretry: -1\nretry\n\n", Told("other: x\nid: 3\n")),
        stream("data: 5\n\ufeffdata: 6\n\n", Told("event: \n")),
        stream(Told("event: other\n"), Told("")),
    ),
    reaction(
        "resumes-by-an-id-behind-a-mark",
        _EVENTS,
        Plan(
            {
                "tools/call": (
                    stream("\ufeffid: event-1\nretry: 50\ndata: \n\n", cut=True),
                    stream("id: event-2\r\nretry: 50\r\ndata: \r\n\r\n", cut=True),
                    stream("id: a\0b\nid: event-3\nid: c\0\nretry: 50\ndata: \n\n", cut=True),
                    stream("id: event-4\nretry: 50\n\n", cut=True),
                    USUAL,
                ),
                "GET": (plain(405), stream(ANSWER)),
            }
        ),
        *[HELLO] * 4,
        PING,
    ),
    _answered(
        "answers-no-json-in-a-stream",
        "JSON-RPC 2.0: what is not JSON answers nothing, and is reported.",
        stream("data: not json\n\n", ANSWER),
    ),
    _answered(
        "answers-in-two-lines",
        "The HTML standard, Server-sent events: the data of several lines are joined.",
        stream(
            'data: {"jsonrpc":"2.0","id":2,\r\n',
            'data:  "result":{"content":[],\rdata:"isError":true}}\r\r',
        ),
    ),
    _answered(
        "answers-with-an-error-in-a-stream",
        "JSON-RPC 2.0, 5.1: an error is an answer, also one without a message.",
        stream('data: {"jsonrpc":"2.0","id":2,"error":{"code":"odd"}}\n\n'),
    ),
    _answered(
        "answers-twice",
        "JSON-RPC 2.0: a request has one response.",
        stream(ANSWER, Told("", {"jsonrpc": "2.0", "id": 2, "result": {"content": []}})),
    ),
    reaction(
        "own-stream-cut",
        _OWN,
        Plan(
            {
                "GET": (
                    stream(
                        Told("id: event-1\nretry: 100\n", TOOLS_CHANGED),
                        Await("notifications/initialized"),
                        "data: {",
                        cut=True,
                    ),
                    plain(503),
                    stream(Told("id: event-2\n", RESOURCES_CHANGED), Await("DELETE")),
                )
            }
        ),
        wait("resources/list_changed"),
        HELLO,
    ),
    reaction(
        "own-stream-ends",
        _OWN,
        Plan(
            {
                "GET": (
                    stream("retry: 50\n\n", TOOLS_CHANGED, Await("notifications/initialized")),
                    stream(TOOLS_CHANGED, Await("DELETE")),
                )
            }
        ),
        wait("tools/list_changed", 2),
        PING,
    ),
    *(
        reaction(f"own-stream-{name}", _OWN, Plan({"GET": (reply,)}), HELLO)
        for name, reply in {
            "is-a-page": plain(200, "Hello"),
            "is-404": plain(404),
            "is-406": plain(406),
            "is-empty": plain(204),
            "is-500-then-there": plain(500),
        }.items()
    ),
    reaction(
        "own-stream-refused-later",
        _OWN,
        Plan(
            {
                "GET": (
                    stream("retry: 50\n\n", TOOLS_CHANGED, Await("notifications/initialized")),
                    plain(405),
                )
            }
        ),
        wait("tools/list_changed"),
        {"do": "pause", "seconds": 0.3},
        PING,
    ),
    reaction(
        "own-stream-of-a-lost-session",
        AGAIN,
        Plan(
            {
                "GET": (
                    stream(
                        Told("id: event-1\nretry: 50\n", TOOLS_CHANGED),
                        Await("notifications/initialized"),
                    ),
                    GONE,
                    stream(RESOURCES_CHANGED, Await("DELETE")),
                )
            }
        ),
        wait("tools/list_changed"),
        {"do": "pause", "seconds": 0.3},
        PING,
    ),
)

"""Answers of HTTP to a call, and the ends of a session."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace

from conformance.capture.collection.reactions.parts import (
    AGAIN,
    ANSWER,
    GONE,
    HELLO,
    LOG,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    called,
    error,
    plain,
    reaction,
    stream,
)

_JSON = {"Content-Type": "application/json"}
_DONE = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
_STATUS = "Streamable HTTP: a status that is no success is reported; nothing is sent again."
_DELETE = "Session Management: the server MAY answer DELETE with 405."
_BUSY = "RFC 9110, 10.2.3: Retry-After says how long to wait; the limits of the call hold."


def _lost(name: str, *replies: Reply, **others: tuple[Reply, ...]) -> Reaction:
    return reaction(f"session-{name}", AGAIN, Plan({"ping": replies, **others}), PING, PING, HELLO)


_SSE: dict[str, dict[str, tuple[Reply, ...]]] = {
    "as-usual": {},
    "is-a-page": {"GET": (plain(200, "Hello"),)},
    "is-missing": {"GET": (plain(404, "Not Found"),)},
    "ends-without-endpoint": {"GET": (stream(": nothing\n\n"),)},
    "breaks-without-endpoint": {"GET": (stream("event: endpoint\n", cut=True),)},
    "names-no-url": {"GET": (stream("event: endpoint\ndata: http://[\n\n"),)},
    "speaks-of-other-things": {
        "tools/call": (stream("event: other\ndata: {}\n\n", "data: 5\n\n", LOG, ANSWER),)
    },
    "refuses-a-call": {"tools/call": (plain(500, "No"), USUAL)},
    "breaks-in-a-call": {"tools/call": (stream(LOG, cut=True),)},
}

SESSIONS: tuple[Reaction, ...] = (
    called(
        "answers-coded",
        "RFC 9110, 8.4: what the client accepts, it decodes.",
        Reply(200, {**_JSON, "Content-Encoding": "gzip"}, body=gzip.compress(_DONE % 2, mtime=0)),
        Reply(200, {**_JSON, "Content-Encoding": "deflate"}, body=zlib.compress(_DONE % 3)),
        Reply(200, {**_JSON, "Content-Encoding": "identity"}, body=_DONE % 4),
        Reply(200, {**_JSON, "Content-Encoding": "rot13"}, body=_DONE % 5),
        Reply(200, {**_JSON, "Content-Encoding": "gzip"}, body=b"not gzip"),
    ),
    called(
        "answers-with-no-message",
        "JSON-RPC 2.0, 5: an answer is an object with the id of its request.",
        Reply(200, _JSON, body=b"{"),
        Reply(200, _JSON, body=b'{"jsonrpc":"2.0","id":"another","result":{}}'),
        Reply(200, _JSON, body=b"[]"),
        Reply(200, _JSON, body=b'{"jsonrpc":"2.0","id":5}'),
        Reply(200, _JSON, body=b'{"jsonrpc":"2.0","id":6,"result":[]}'),
        Reply(200, _JSON, body=b'[{"jsonrpc":"2.0","id":7,"result":{"content":[]}}]'),
        Reply(200, _JSON, body=b'{"jsonrpc":"2.0","id":"8","result":{"content":[]}}'),
        Reply(200, _JSON, body=b'{"jsonrpc":"2.0","id":9.0,"result":{"content":[]}}'),
        Reply(200, {"Content-Type": "text/html"}, body=b"<p>Hello</p>"),
        plain(200),
        plain(202),
        plain(204),
    ),
    called(
        "statuses",
        _STATUS,
        *(plain(status, "No") for status in (400, 401, 403, 405, 410, 500, 502)),
        error(-32603, "Failed", 500),
        error(-32602, "Bad", 400),
        error(-32601, "Unknown", 404),
    ),
    called(
        "redirects",
        "RFC 9110, 15.4: 307 and 308 keep the method and the body; 303 does not.",
        plain(307, Location="/mcp?again=1"),
        plain(308, Location="/mcp"),
        plain(303, Location="/mcp"),
        plain(307),
        plain(307, Location="ftp://127.0.0.1/mcp"),
    ),
    reaction(
        "redirects-round",
        "RFC 9110, 15.4: detect cyclical redirections.",
        Plan({"tools/call": (plain(307, Location="/mcp"),)}),
        HELLO,
        PING,
    ),
    called("busy-once", _BUSY, plain(503, Retry_After="1"), client={"retry_busy": True}),
    called("busy-for-long", _BUSY, plain(429, Retry_After="3600"), client={"retry_busy": True}),
    called("busy-without-time", _BUSY, plain(429, Retry_After="soon"), client={"retry_busy": True}),
    called("busy-and-failing", _BUSY, plain(429), plain(500), client={"retry_busy": True}),
    called("busy-and-not-asked-for", _BUSY, plain(503, Retry_After="1")),
    *(
        reaction(
            f"busy-{name}",
            _BUSY,
            Plan({"tools/call": (plain(503, Retry_After=after), USUAL)}),
            {**HELLO, **limits},
            PING,
            client={"retry_busy": True, **client},
        )
        for name, after, limits, client in (
            ("for-longer-than-the-call-may-be-silent", "2", {"timeout": 1}, {}),
            ("for-longer-than-the-call-may-take", "2", {"total": 1}, {}),
            ("for-longer-than-any-call-may-take", "2", {}, {"options": {"max_timeout": 1}}),
            ("until-a-day-that-is-over", "Fri, 01 Jan 2010 00:00:00 GMT", {}, {}),
            ("until-a-day-in-a-century", "Fri, 01 Jan 2100 00:00:00 GMT", {}, {}),
        )
    ),
    called(
        "closes",
        "RFC 9112, 9.6: after close no further request is sent on a connection.",
        Reply(200, {"Connection": "close"}),
        stream(ANSWER, cut=True),
    ),
    _lost("404-with-an-error", GONE, USUAL),
    _lost("404-plain", plain(404, "Not Found"), USUAL),
    _lost("400-of-it", error(-32000, "Bad Request: No valid session ID provided", 400), USUAL),
    _lost("400-of-something-else", error(-32000, "Bad Request: no such thing", 400), USUAL),
    _lost("404-always", GONE),
    _lost("404-and-hello-refused", GONE, USUAL, initialize=(USUAL, plain(500))),
    _lost("404-and-hello-unknown", GONE, USUAL, initialize=(USUAL, plain(404))),
    _lost("404-of-a-method", error(-32601, "Method not found", 404), USUAL),
    reaction(
        "without-session-404",
        _STATUS,
        Plan({"ping": (plain(404), USUAL)}, has_session=False),
        PING,
        PING,
    ),
    reaction(
        "session-lost-in-flight",
        AGAIN,
        Plan({"tools/call": (stream(LOG, Await("initialize", 2), ANSWER),), "ping": (GONE, USUAL)}),
        {"do": "together", "steps": (HELLO, PING)},
        HELLO,
    ),
    reaction(
        "session-lost-for-all-at-once",
        AGAIN,
        Plan({"ping": (GONE, replace(GONE, after=Await("initialize", 2)), USUAL)}),
        {"do": "together", "steps": (PING, PING)},
        HELLO,
    ),
    reaction(
        "session-lost-with-a-level",
        AGAIN,
        Plan({"ping": (GONE, USUAL)}),
        {"do": "set_log_level", "level": "warning"},
        {"do": "subscribe", "uri": "test://one"},
        PING,
        HELLO,
    ),
    *(
        reaction(f"delete-{status}", _DELETE, Plan({"DELETE": (plain(status),)}), HELLO)
        for status in (404, 405, 500)
    ),
    reaction(
        "forgets-a-session-that-is-only-pinged",
        "Ping: a client that pings finds out; Session Management: 404 means a new session.",
        Plan({"ping": (GONE, USUAL)}),
        {"do": "pause", "seconds": 0.5},
        HELLO,
        client={"keep_alive": 0.35},
    ),
    *(
        reaction(
            f"sse-{name}",
            "HTTP with SSE (2024-11-05): the first event names the endpoint, others answer.",
            Plan(replies),
            *([HELLO, PING] if "tools/call" in replies or not replies else []),
            transports="sse",
        )
        for name, replies in _SSE.items()
    ),
)

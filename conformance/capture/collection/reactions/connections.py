"""HTTP as it is framed: ill-formed answers, cookies, and connections that end."""

from __future__ import annotations

from conformance.capture.collection.reactions.parts import (
    DROPPED,
    HELLO,
    LIST_TOOLS,
    LOG,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    called,
    cookies,
    plain,
    reaction,
    stream,
)

_LENGTHS = (
    "RFC 9110, 8.6; RFC 9112, 6.3: equal lengths are one, any other text is an error that ends "
    "the connection."
)
_JSON = {"Content-Type": "application/json"}
_TYPE = "Content-Type: application/json\r\n"


def _raw(text: str) -> Reply:
    return Reply(0, body=text.encode("latin-1"))


def _of_length(number: int, *fields: str) -> Reply:
    head = ["HTTP/1.0 200 OK", "Content-Type: application/json", *fields]
    body = f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}'
    return Reply(0, body="\r\n".join([*head, "", body.ljust(49)]).encode("latin-1"))


_LENGTH_FIELDS = (
    ("Content-Length: 49, 49",),
    ("Content-Length: 49", "Content-Length: 49"),
    ("Content-Length: 49 ,\t49,49",),
    *((f"Content-Length: {bad}",) for bad in ("4_9", "0x31", "\xb2", "-49", "49.0", "49;", "49,")),
    ("Content-Length: 49, 4_9",),
    ("Content-Length: 049",),
)

SESSIONS: tuple[Reaction, ...] = (
    called(
        "answers-in-no-http",
        "RFC 9112, 2.2, 6.1 to 6.3, 7.1: a message without a valid length ends the connection.",
        _raw("SSH-2.0-OpenSSH_9.0\r\n\r\n"),
        _raw("HTTP/2.0 200 OK\r\n\r\n"),
        _raw("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n{}"),
        _raw("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}"),
        _raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        _raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}"),
        _raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
        _raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n"),
        _raw("HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\n{}"),
    ),
    called(
        "answers-of-another-hop",
        "RFC 9112, 6.1, 6.3, 9.3: with both lengths, or after bytes that answer nothing, and in "
        "HTTP/1.0, a connection is left.",
        _raw(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 49\r\n\r\n"
            '{"jsonrpc":"2.0","id":2,"result":{"content":[] }}HTTP/1.1 200 OK\r\n\r\n'
        ),
        _raw(
            "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 49\r\n\r\n"
            '{"jsonrpc":"2.0","id":3,"result":{"content":[] }}'
        ),
        _raw(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
            '31\r\n{"jsonrpc":"2.0","id":4,"result":{"content":[] }}\r\n0\r\n\r\n'
        ),
        _raw("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}"),
        _raw("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n"),
    ),
    called(
        "answers-after-empty-lines",
        "RFC 9112, 2.2: an empty line before a message does no harm; another line is no response.",
        *(
            _raw(f"{before}HTTP/1.0 200 OK\r\n{_TYPE}Content-Length: 49\r\n\r\n{body}")
            for before, body in (
                ("\r\n", '{"jsonrpc":"2.0","id":2,"result":{"content":[]}} '),
                ("\r\n\r\n", '{"jsonrpc":"2.0","id":3,"result":{"content":[]}} '),
                ("\n\n\n", '{"jsonrpc":"2.0","id":4,"result":{"content":[]}} '),
                (" \r\n", '{"jsonrpc":"2.0","id":5,"result":{"content":[]}} '),
            )
        ),
    ),
    called(
        "answers-with-lengths",
        _LENGTHS,
        *(_of_length(number, *fields) for number, fields in enumerate(_LENGTH_FIELDS, 2)),
    ),
    called(
        "answers-by-a-banner",
        "RFC 9112, 2.1 and 4: what begins with other bytes is no response, whatever may follow.",
        Reply(0, body=b"220 smtp.example.com\r\n\r\n"),
        Reply(0, body=b"HTTP/1.1 2000 OK\r\n\r\n"),
        Reply(0, body=b"HTTP/1.1\r\n\r\n"),
    ),
    reaction(
        "cookies-of-a-folder",
        "RFC 6265, 5.1.4: without a path, a cookie is for the folder of what set it.",
        Plan(
            {
                "tools/call": (
                    cookies("a=1", "b=2; Path=/deep/", "c=3; Path=/deeper", "d=4; Path=relative"),
                    plain(307, Location="/elsewhere"),
                    plain(307, Location="/deeper/mcp"),
                    USUAL,
                )
            },
            path="/deep/mcp",
        ),
        *[HELLO] * 4,
    ),
    reaction(
        "cookies-in-detail",
        "RFC 6265, 5.2 to 5.4: domains, paths and dates of cookies, and their order.",
        Plan(
            {
                "initialize": (
                    cookies(
                        "a=1; Path=/",
                        "b=2; path=/mcp; Domain=127.0.0.1",
                        "c=3; Domain=.127.0.0.1",
                        "d=4; Domain=0.0.1",
                        "e=5; Domain=27.0.0.1",
                        "f=6; Path=/mcp/",
                        "g=7; Path=/mcp/deeper",
                        "h=8; Max-Age=60",
                        "i=9; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
                        "j=1; Expires=Fri, 01 Jan 2010 00:00:00 GMT; Max-Age=60",
                        "k=1; Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
                        "l=1; Max-Age=soon",
                        "=1",
                        "nothing",
                        " m = 1 ; SameSite=Strict",
                        "n=1; Path=",
                        "o=",
                        "p=1; SECURE",
                    ),
                ),
                "tools/call": (
                    cookies(f"x{'x' * 4096}=1", f"y{'y' * 4080}=1; Path=/no"),
                    cookies("a=2; Path=/", "h=; Max-Age=0", f"z=1; Path=/{'m' * 1024}"),
                    USUAL,
                ),
                "ping": (cookies(*(f"n{number}=1; Path=/no" for number in range(45))), USUAL),
            }
        ),
        HELLO,
        HELLO,
        HELLO,
        PING,
        PING,
    ),
    reaction(
        "cookies-beside-the-user-s",
        "RFC 6265, 5.4: one Cookie field; what the user sets stays.",
        Plan({"initialize": (cookies("a=1; Path=/", "b=2; Path=/mcp"),)}),
        HELLO,
        client={"headers": {"Cookie": "redacted-1"}},
    ),
    reaction(
        "cookies-of-names-that-the-user-has",
        "RFC 6265, 5.4: one Cookie field; what the user sets stays.",
        Plan({"initialize": (cookies("a=1; Path=/", "b=2; Path=/mcp", "c=3; Path=/"),)}),
        HELLO,
        client={"headers": {"Cookie": "x=redacted-8; a=redacted-9; c=redacted-8"}},
    ),
    *(
        reaction(
            f"drops-{name}",
            "RFC 9110, 9.2.2; RFC 9112, 9.3.1: what an idle connection has lost is sent again "
            "once, where it may be repeated.",
            Plan(replies),
            *steps,
        )
        for name, replies, steps in (
            (
                "after-a-redirect",
                {"ping": (plain(307, Location="/mcp?b"), DROPPED, USUAL)},
                (PING, PING),
            ),
            (
                "lists-and-calls",
                {"tools/list": (USUAL, DROPPED, USUAL), "tools/call": (USUAL, DROPPED, USUAL)},
                (LIST_TOOLS, LIST_TOOLS, HELLO, HELLO, HELLO),
            ),
            ("twice", {"ping": (USUAL, DROPPED, DROPPED, USUAL)}, (PING, PING, PING)),
        )
    ),
    called(
        "refuses-at-length",
        "Streamable HTTP: a status that is no success is reported; its body may have no end.",
        Reply(500, {"Content-Type": "text/plain"}, body=b"x" * 20_000),
        Reply(404, _JSON, body=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":""}}'),
        Reply(400, _JSON, body=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":""}}'),
        Reply(400, _JSON, body=b'{"jsonrpc":"2.0","id":99,"error":{"code":-32602,"message":""}}'),
        Reply(400, _JSON, body=b'{"jsonrpc":"2.0","id":"6","error":{"code":-3.0,"data":[1]}}'),
        Reply(400, _JSON, body=b'{"jsonrpc":"2.0","id":7,"error":{"code":true}}'),
        Reply(400, _JSON, body=b'{"jsonrpc":"2.0","id":8,"error":{"code":2.5,"message":[]}}'),
    ),
    reaction(
        "sse-names-two-endpoints",
        "HTTP with SSE (2024-11-05): the first event names the endpoint.",
        Plan(
            {
                "GET": (
                    stream(
                        "data: 5\n\n",
                        "event: endpoint\ndata: /messages?first\n\n",
                        "event: endpoint\ndata: /messages?second\n\n",
                        "event: message\ndata\n\n",
                        Await("the end"),
                    ),
                ),
                "tools/call": (plain(404, "Gone"), plain(202), USUAL),
            }
        ),
        HELLO,
        {**HELLO, "timeout": 0.3},
        HELLO,
        transports="sse",
    ),
    reaction(
        "exits-in-a-call",
        "stdio: a server that has exited MAY be started again; what may have run is not repeated.",
        Plan({"tools/call": (Reply(events=(LOG,), cut=True), USUAL)}),
        PING,
        HELLO,
        PING,
        transports="stdio",
    ),
)

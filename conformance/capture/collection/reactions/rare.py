"""Rare acts of servers: connections that end, cookies, odd names and versions, slow users."""

from __future__ import annotations

from conformance.capture.collection.reactions.parts import (
    ANSWER,
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
    asked,
    error,
    reaction,
    stream,
    told,
)
from conformance.capture.collection.reactions.stateless import READ, USER, WHO, stateless
from conformance.scripts import HANDSHAKE, STATELESS, Step

_VERSIONS = tuple(
    reaction(
        f"taken-version-{version}",
        "Lifecycle, Version Negotiation: a client may accept a newer version, never an older one.",
        Plan({"ping": (error(-32001, "Session not found", 404), USUAL)}, version=version),
        HELLO,
        PING,
        HELLO,
        transports="stdio http",
        revision=version,
        client={"offers": HANDSHAKE, "options": {"strict_version": False}},
    )
    for version in ("2024-10-07", "2027-01-01", "newest", "DRAFT-2026-v1")
)

_KEPT = {"ttlMs": 60_000, "cacheScope": "public"}
_PAGE = {"resultType": "complete", "tools": [], **_KEPT}
_WHO_IS_IT = asked(1, "elicitation/create", **WHO["params"])
_BELOW: Step = {**READ, "uri": "test://one/"}
_SUBSCRIPTION = {"io.modelcontextprotocol/subscriptionId": "{id}"}
_SLOWLY = [{"action": "decline", "after": seconds} for seconds in (0.8, 1.2)]
_ODD: Step = {**HELLO, "name": "gr\u00f6\u00dfe 1"}
_MORE = (
    reaction(
        "cookies",
        "RFC 6265, 5.3 and 5.4: a cookie is sent to where it belongs, until it expires.",
        Plan(
            {
                "initialize": (Reply(200, {"Set-Cookie": "a=1; Path=/mcp; HttpOnly"}),),
                "tools/call": (
                    Reply(200, {"Set-Cookie": "b=2; Path=/other"}),
                    Reply(200, {"Set-Cookie": "c=3; Max-Age=0"}),
                    Reply(200, {"Set-Cookie": "d=4; Domain=example.com"}),
                    Reply(200, {"Set-Cookie": "e=5; Secure"}),
                    Reply(200, {"Set-Cookie": "a=6; Path=/mcp"}),
                    Reply(200, {"Set-Cookie": "f=7; Path=/m"}),
                    Reply(200, {"Set-Cookie": "g=8; Path=/"}),
                    Reply(200, {"Set-Cookie": "h=9; Path=mcp"}),
                    Reply(200, {"Set-Cookie": "g=0; Path=/; Expires=Thu, 01 Jan 1970 00:00 GMT"}),
                    Reply(200, {"Set-Cookie": "a=; Path=/mcp; Max-Age=-1"}),
                    USUAL,
                ),
            }
        ),
        *[HELLO] * 11,
    ),
    reaction(
        "answers-nobody-with-an-error",
        "JSON-RPC 2.0, 5: an error without id is of a request that could not be read, if of any.",
        Plan(
            {
                "tools/call": (
                    stream(
                        Await("tools/call", 2),
                        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}},
                        ANSWER,
                    ),
                    stream(Await("tools/call", 2), ANSWER),
                    stream({"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "?"}}),
                    USUAL,
                )
            }
        ),
        {"do": "together", "steps": (HELLO, HELLO)},
        HELLO,
        HELLO,
        transports="stdio",
    ),
    reaction(
        "drops-an-idle-connection",
        "RFC 9112, 9.3.1: a client may send again over a new connection what an idle one has lost.",
        Plan({"tools/call": (USUAL, DROPPED, USUAL), "ping": (DROPPED, DROPPED, USUAL)}),
        HELLO,
        HELLO,
        PING,
        PING,
    ),
    reaction(
        "closes-with-other-options",
        "RFC 9110, 7.6.1: Connection is a list.",
        Plan({"tools/call": (Reply(200, {"Connection": "Upgrade, Close"}), USUAL)}),
        HELLO,
        HELLO,
    ),
    stateless(
        "has-odd-names",
        "Streamable HTTP, Value Encoding: what no header takes is sent as base64.",
        {},
        _ODD,
        {**_ODD, "name": " echo"},
        {**_ODD, "name": "=?base64?ZWNobw==?="},
        {"do": "get_prompt", "name": "gr\u00f6\u00dfe"},
        {"do": "read_resource", "uri": "test://gr\u00f6\u00dfe"},
        transports="http",
    ),
    stateless(
        "forgets-pages-that-were-kept",
        "Caching: a client SHOULD begin a list anew when a cursor has become invalid.",
        {
            "tools/list": (
                Reply(result={**_PAGE, "nextCursor": "a"}),
                error(-32602, "Invalid cursor"),
                Reply(result={**_PAGE, "tools": [{"name": "echo", "inputSchema": {}}]}),
            )
        },
        LIST_TOOLS,
        LIST_TOOLS,
        transports="stdio http",
    ),
    stateless(
        "keeps-by-what-is-asked",
        "Caching: what is asked decides, and what only tells of the request does not.",
        {
            "resources/read": tuple(
                Reply(result={"contents": [{"uri": "test://one", "text": text}], **_KEPT})
                for text in "12345"
            )
        },
        READ,
        {**READ, "meta": {"com.example/a": 1}},
        {**READ, "meta": {"com.example/a": 1}},
        {**READ, "fresh": True},
        READ,
    ),
    *(
        reaction(
            f"asks-for-longer-than-a-call-may-take{name}",
            "Lifecycle, Timeouts; Elicitation: the time of the user is not the server's.",
            Plan(
                {
                    "tools/call": (
                        stream(*questions, Await("answer", len(questions)), ANSWER),
                        USUAL,
                    )
                }
            ),
            {**HELLO, **limits},
            HELLO,
            transports=transports,
            client={**USER, "elicitation": _SLOWLY},
        )
        for name, transports, limits, questions in (
            (
                "",
                "stdio http",
                {"timeout": 0.5},
                (asked(1, "elicitation/create", **WHO["params"]),),
            ),
            (
                "-twice",
                "stdio",
                {"timeout": 0.5, "total": 0.6},
                (_WHO_IS_IT, {**_WHO_IS_IT, "id": 2}),
            ),
        )
    ),
    *(
        reaction(
            f"connected-again-{name}",
            "Versioning: a client SHOULD keep what it found for an origin.",
            plan,
            {"do": "set_log_level", "level": "warning"},
            HELLO,
            {"do": "connect_again"},
            HELLO,
            client={"offers": None},
            revision=STATELESS if name == "statelessly" else HANDSHAKE,
        )
        for name, plan in {
            "by-initialize": Plan({"server/discover": (error(-32601, "Method not found", 404),)}),
            "statelessly": Plan(is_stateless=True, has_session=False),
            "and-changed": Plan(
                {
                    "initialize": (USUAL, error(-32601, "Method not found", 404)),
                    "server/discover": (error(-32601, "Method not found", 404), USUAL),
                },
                is_stateless=True,
            ),
        }.items()
    ),
    reaction(
        "cut-after-the-answer",
        "Streamable HTTP, Resumability: a stream that has answered needs no resumption.",
        Plan(
            {
                "tools/call": (
                    stream("id: event-1\nretry: 50\ndata: \n\n", ANSWER, LOG, cut=True),
                    USUAL,
                )
            }
        ),
        HELLO,
        {"do": "pause", "seconds": 0.3},
        HELLO,
    ),
    reaction(
        "pings-before-hello",
        "Ping: the receiver MUST respond promptly; Lifecycle: pings may come before initialized.",
        Plan({"initialize": (stream(asked("early", "ping"), Await("answer"), ANSWER),)}),
        HELLO,
        transports="stdio",
    ),
    reaction(
        "refuses-params-that-name-a-session",
        "Session Management: 404 ends a session; an error of invalid params does not.",
        Plan(
            {
                "tools/call": (
                    error(-32602, "Invalid session argument", 400),
                    error(-32000, "No valid session ID provided", 400),
                    USUAL,
                )
            }
        ),
        HELLO,
        HELLO,
        HELLO,
    ),
    stateless(
        "updates-below-what-is-fresh",
        "Caching: an update of a part makes the whole stale, also where its URI ends in a slash.",
        {
            "resources/read": (
                Reply(result={"contents": [], **_KEPT}),
                Reply(result={"contents": [], **_KEPT}),
            ),
            "subscriptions/listen": (
                stream(
                    told(
                        "notifications/subscriptions/acknowledged",
                        notifications={"resourceSubscriptions": ["test://one/"]},
                        _meta=_SUBSCRIPTION,
                    ),
                    Await("tools/call"),
                    told(
                        "notifications/resources/updated",
                        uri="test://one/part",
                        _meta=_SUBSCRIPTION,
                    ),
                    Await("tools/call", 2),
                ),
            ),
        },
        _BELOW,
        {
            "do": "listen",
            "uris": ["test://one/"],
            "steps": (HELLO,),
            "until": {"method": "notifications/resources/updated", "count": 1},
        },
        _BELOW,
        HELLO,
        transports="http",
    ),
    reaction(
        "own-stream-ends-always",
        "Streamable HTTP, Listening for Messages: a client MAY reconnect, and need not for ever.",
        Plan({"GET": (stream("retry: 10\n\n"),)}),
        {"do": "pause", "seconds": 1},
        HELLO,
    ),
)

SESSIONS: tuple[Reaction, ...] = (
    *_VERSIONS,
    *_MORE,
)

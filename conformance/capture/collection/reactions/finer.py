"""Finer points: sessions that turn on one field, one status or one moment."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.parts import EVERYTHING_DECLARED
from conformance.capture.collection.reactions.parts import (
    ANSWER,
    DROPPED,
    HELLO,
    LIST_TOOLS,
    LOG,
    PING,
    TOOLS_CHANGED,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    Told,
    asked,
    error,
    plain,
    reaction,
    stream,
    told,
    wait,
)
from conformance.capture.collection.reactions.stateless import READ, USER, WHO, stateless
from conformance.scripts import Step

_JSON = {"Content-Type": "application/json"}
_GONE = error(-32001, "Session not found", 404)
_LATER = {"jsonrpc": "2.0", "id": 2, "result": {"content": []}}
_AGAIN = "Session Management: a client that receives 404 for a session MUST start a new one."
_RESUMES = (
    "Streamable HTTP, Resumability and Redelivery: a client that resumes after a broken connection "
    "SHOULD issue a GET with Last-Event-ID; MUST respect retry."
)
_PRIMED = "id: event-1\nretry: 50\ndata: \n\n"
_WHO_IS_IT = asked(7, "elicitation/create", **WHO["params"])


def _raw(text: str) -> Reply:
    return Reply(0, body=text.encode("latin-1"))


def _cookies(*fields: str) -> Reply:
    return Reply(200, {"Set-Cookie": "\r\nSet-Cookie: ".join(fields)})


def _called(name: str, clause: str, *replies: Reply, **members: Any) -> Reaction:
    """Return a session whose calls are answered in these ways, and one more as usual."""
    plan = Plan({"tools/call": (*replies, USUAL)})
    return reaction(name, clause, plan, *[HELLO] * len(replies), PING, **members)


_HTTP = (
    _called(
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
    _called(
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
    ),
    reaction(
        "cookies-in-detail",
        "RFC 6265, 5.2 to 5.4: domains, paths and dates of cookies, and their order.",
        Plan(
            {
                "initialize": (
                    _cookies(
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
                    _cookies(f"x{'x' * 4096}=1", f"y{'y' * 4080}=1; Path=/no"),
                    _cookies("a=2; Path=/", "h=; Max-Age=0", f"z=1; Path=/{'m' * 1024}"),
                    USUAL,
                ),
                "ping": (_cookies(*(f"n{number}=1; Path=/no" for number in range(45))), USUAL),
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
        Plan({"initialize": (_cookies("a=1; Path=/", "b=2; Path=/mcp"),)}),
        HELLO,
        client={"headers": {"Cookie": "redacted-1"}},
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
    _called(
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
)

_STREAMS = (
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
            _RESUMES,
            Plan({"tools/call": (first, USUAL), "GET": (USUAL, *got)}),
            HELLO,
            HELLO,
            client=USER,
        )
        for name, first, got in (
            (
                "repeats",
                stream(_PRIMED, Told("id: event-2\n", _WHO_IS_IT), Await("answer"), cut=True),
                (stream(Told("id: event-2\n", _WHO_IS_IT), Told("id: event-3\n")),),
            ),
            (
                "asks-meanwhile",
                stream(_PRIMED, Told("id: event-2\n", _WHO_IS_IT), cut=True),
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
                "wants-to-wait",
                stream("id: event-1\nretry: 700\ndata: \n\n", cut=True),
                (stream("retry: 1200\n\n"), stream(Told("id: event-2\n"))),
            ),
        )
    ),
    *(
        reaction(
            f"loses-a-session-{name}",
            f"{_AGAIN} {clause}",
            Plan(
                {
                    "tools/call": (first, USUAL),
                    "GET": (USUAL, stream(Await("ping", 2), Told("id: event-2\n", _LATER))),
                    "ping": (_GONE, _GONE, USUAL),
                }
            ),
            HELLO,
            HELLO,
            client={**USER, "keep_alive": 0.35, "elicitation": [{"never": True}]},
        )
        for name, first, clause in (
            (
                "that-asks",
                stream(_WHO_IS_IT, Await("never")),
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
)


def _in_a_session(
    name: str, clause: str, replies: dict[str, tuple[Reply, ...]], *steps: Step, **members: Any
) -> Reaction:
    return reaction(name, clause, Plan(replies), *steps, **members)


_STOPS: dict[str, tuple[Any, Reply]] = {
    "": (_in_a_session, stream(_WHO_IS_IT, Await("answer"), ANSWER)),
    "-statelessly": (
        stateless,
        Reply(result={"resultType": "input_required", "inputRequests": {"who": WHO}}),
    ),
}


_QUESTIONS = (
    reaction(
        "cancels-what-it-asks",
        "Cancellation: the receiver SHOULD stop, and not send a response; unknown ids are ignored.",
        Plan(
            {
                "tools/call": (
                    stream(
                        _WHO_IS_IT,
                        {**_WHO_IS_IT, "id": "7"},
                        told("notifications/cancelled", requestId="8"),
                        told("notifications/cancelled", requestId=7.5),
                        told("notifications/cancelled", requestId=7, reason=5),
                        asked(9, "ping"),
                        told("notifications/cancelled", requestId="7", reason="enough"),
                        Await("answer"),
                        ANSWER,
                    ),
                    USUAL,
                )
            }
        ),
        HELLO,
        PING,
        transports="stdio http",
        client={**USER, "elicitation": [{"never": True}]},
    ),
    reaction(
        "asks-for-all-kinds",
        "Elicitation, Sampling, Roots: what was declared is answered; defaults fill what is left.",
        Plan(
            {
                "tools/call": tuple(
                    stream(question, Await("answer", number), ANSWER)
                    for number, question in enumerate(
                        (
                            asked(1, "elicitation/create", message="?", mode="form"),
                            asked(
                                2,
                                "elicitation/create",
                                message="?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {
                                        "name": {"type": "string"},
                                        "age": {"type": "integer", "default": 5},
                                    },
                                    "required": ["name", "age"],
                                },
                            ),
                            asked(
                                3,
                                "elicitation/create",
                                message="?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {"name": {"type": "string", "maxLength": 2}},
                                },
                            ),
                            asked(
                                4,
                                "elicitation/create",
                                message="?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {"other": {"type": "string"}},
                                    "required": ["other"],
                                },
                            ),
                            asked(
                                5, "elicitation/create", message="?", requestedSchema={"type": 5}
                            ),
                            asked(
                                6, "elicitation/create", mode="url", message="Go", url="https://a"
                            ),
                            asked(7, "roots/list", _meta={"a": 1}),
                            asked(8, "tasks/get", taskId="none"),
                            asked(9, "ping", task={}),
                        ),
                        1,
                    )
                )
            }
        ),
        *[HELLO] * 9,
        transports="stdio",
        client=USER,
    ),
    *(
        make(
            f"asks-a-user-who-stops{name}",
            "JSON-RPC 2.0, 5.1: -32603 where the client's own function fails.",
            {"tools/call": (reply, USUAL)},
            HELLO,
            HELLO,
            transports="stdio http",
            client={**USER, "elicitation": [{"stops": True}]},
        )
        for name, (make, reply) in _STOPS.items()
    ),
    stateless(
        "asks-what-is-ill-formed-statelessly",
        "Patterns: servers send no requests; clients send no responses, not even errors.",
        {
            "tools/call": (
                stream(
                    {"jsonrpc": "2.0", "id": 10, "method": "ping", "params": [1]},
                    {"jsonrpc": "2.0", "id": 11, "method": 1},
                    asked(12, "ping"),
                    ANSWER,
                ),
                USUAL,
            )
        },
        HELLO,
        HELLO,
    ),
    stateless(
        "wants-input-in-turn",
        "MRTR: each retry has the answers to the last request, and the state that came with it.",
        {
            "tools/call": (
                Reply(result={"resultType": "input_required", "inputRequests": {"who": WHO}}),
                Reply(result={"resultType": "input_required", "requestState": "one"}),
                Reply(
                    result={
                        "resultType": "input_required",
                        "inputRequests": {"at": {"method": "roots/list"}},
                        "requestState": "two",
                    }
                ),
                USUAL,
            ),
            "resources/read": (
                Reply(result={"resultType": "input_required", "inputRequests": {"who": WHO}}),
                USUAL,
            ),
        },
        {**HELLO, "meta": {"com.example/a": 1}},
        READ,
        client={**USER, "capabilities": EVERYTHING_DECLARED},
    ),
)

_CACHE = (
    stateless(
        "changes-what-is-cached-of-another",
        "Caching: a result is another request's; a refusal of a tool makes the list stale.",
        {
            "tools/list": (
                Reply(
                    result={
                        "tools": [{"name": "echo", "inputSchema": {"type": "object"}}],
                        "ttlMs": 60_000,
                        "cacheScope": "public",
                    }
                ),
            ),
            "tools/call": (error(-32050), error(-32602), error(-32601), USUAL),
        },
        LIST_TOOLS,
        HELLO,
        LIST_TOOLS,
        HELLO,
        LIST_TOOLS,
        HELLO,
        LIST_TOOLS,
        LIST_TOOLS,
        transports="http",
    ),
    stateless(
        "is-cached-and-connected-again",
        "Caching: each connection begins with an empty cache.",
        {"resources/read": (Reply(result={"contents": [], "ttlMs": 60_000}),)},
        READ,
        READ,
        {"do": "connect_again"},
        READ,
        transports="http",
    ),
)


def _kept(scope: str, text: str = "") -> Reply:
    contents = [{"uri": "test://one", "text": text}]
    return Reply(result={"contents": contents, "ttlMs": 60_000, "cacheScope": scope})


_TWO: Step = {**READ, "uri": "test://two"}
_MARKED: Step = {**READ, "meta": {"com.example/a": 1, "com.example/b": 2}}
_LISTENED = {"io.modelcontextprotocol/subscriptionId": "{id}"}
_TEMPLATES: Step = {"do": "list_resource_templates"}


def _listening(*events: Any, **wanted: Any) -> Reply:
    yes = told("notifications/subscriptions/acknowledged", notifications=wanted, _meta=_LISTENED)
    return stream(yes, *events)


_KEPT = (
    stateless(
        "keeps-what-is-another-s",
        "Caching: a private result is not another authorization's, which a cookie may be.",
        {
            "resources/read": (_kept("private", "1"), _kept("private", "2"), _kept("public", "3")),
            "tools/call": (_cookies("a=1; Path=/"), USUAL),
        },
        READ,
        READ,
        HELLO,
        READ,
        _TWO,
        _TWO,
        HELLO,
        _TWO,
        transports="http",
    ),
    stateless(
        "keeps-by-a-function-s-headers",
        "Caching: where the authorization may change, what is private is not kept.",
        {"resources/read": (_kept("private"), _kept("private"), _kept("public"), _kept("other"))},
        *[READ] * 4,
        *[_TWO] * 2,
        transports="http",
        client={"options": {"headers_when_asked": {"Accept-Language": "de"}}},
    ),
    stateless(
        "keeps-by-a-token",
        "Caching: where the authorization may change, what is private is not kept.",
        {"resources/read": (_kept("private"), _kept("private"), _kept("public"), _kept("other"))},
        *[READ] * 4,
        *[_TWO] * 2,
        transports="http",
        auth={"grant": "bearer", "value": "the-value-of-a-key"},
    ),
    stateless(
        "keeps-in-any-order",
        "Caching: what is asked decides, not the order in which it is written.",
        {"resources/read": tuple(_kept("public", text) for text in "123")},
        _MARKED,
        {**_MARKED, "meta": {"com.example/b": 2, "com.example/a": 1}},
        {**_MARKED, "meta": {"com.example/b": 2, "com.example/a": 1, "traceparent": "00-1"}},
        {**_MARKED, "meta": {"com.example/b": 2, "com.example/a": 2}},
        READ,
        READ,
        transports="http",
    ),
    stateless(
        "changes-all-lists",
        "Caching: a client SHOULD drop what a notification makes stale, and nothing else.",
        {
            "prompts/list": (Reply(result={"prompts": [], "ttlMs": 60_000}),),
            "resources/list": (Reply(result={"resources": [], "ttlMs": 60_000}),),
            "resources/templates/list": (Reply(result={"resourceTemplates": [], "ttlMs": 60_000}),),
            "resources/read": (_kept("public"),),
            "subscriptions/listen": (
                _listening(
                    Await("tools/call"),
                    told("notifications/resources/list_changed", _meta=_LISTENED),
                    Await("tools/call", 2),
                    told("notifications/prompts/list_changed", _meta=_LISTENED),
                    Await("tools/call", 3),
                    promptsListChanged=True,
                    resourcesListChanged=True,
                ),
            ),
        },
        READ,
        _TEMPLATES,
        {"do": "list_resources"},
        {"do": "list_prompts"},
        {
            "do": "listen",
            "prompts": True,
            "resources": True,
            "steps": (
                HELLO,
                wait("resources/list_changed"),
                _TEMPLATES,
                {"do": "list_resources"},
                {"do": "list_prompts"},
                READ,
                HELLO,
            ),
            "until": {"method": "notifications/prompts/list_changed", "count": 1},
        },
        {"do": "list_prompts"},
        _TEMPLATES,
        HELLO,
        transports="http",
    ),
    stateless(
        "listens-for-longer-than-a-call-may-take",
        "Subscriptions: the request stays open; Lifecycle, Timeouts: its limit is the answer's.",
        {
            "subscriptions/listen": (
                _listening(
                    Await("tools/call"),
                    told("notifications/tools/list_changed", _meta=_LISTENED),
                    Await("tools/call", 2),
                    toolsListChanged=True,
                ),
            )
        },
        {
            "do": "listen",
            "tools": True,
            "steps": ({"do": "pause", "seconds": 0.6}, HELLO),
            "until": {"method": "notifications/tools/list_changed", "count": 1},
        },
        HELLO,
        transports="http",
        client={"options": {"timeout": 0.4}},
    ),
    stateless(
        "forgets-pages-always",
        "Pagination, Caching: a list is begun anew once, not again and again.",
        {
            "tools/list": (
                Reply(result={"tools": [], "nextCursor": "a"}),
                error(-32602, "Invalid cursor"),
                Reply(result={"tools": [], "nextCursor": "b"}),
                error(-32602, "Invalid cursor"),
            )
        },
        LIST_TOOLS,
        HELLO,
        transports="http",
    ),
)

_ALL_KINDS: dict[str, Any] = {
    "name": {"type": "string", "x-mcp-header": "Name"},
    "count": {"type": "integer", "x-mcp-header": "Count"},
    "flag": {"type": "boolean", "x-mcp-header": "Flag"},
    "deep": {"type": "object", "properties": {"x": {"type": "string", "x-mcp-header": "X-Deep"}}},
    "default": {"default": {"x-mcp-header": "Not"}, "enum": [{"x-mcp-header": "Neither"}]},
}


def _tools(**schemas: Any) -> Reply:
    return Reply(
        result={"tools": [{"name": name, "inputSchema": each} for name, each in schemas.items()]}
    )


_FIELDS = (
    stateless(
        "wants-headers-of-all-kinds",
        "Streamable HTTP, Custom Headers (SEP-2243): strings, integers and booleans are repeated; "
        "null and what is missing are not.",
        {
            "tools/list": (
                _tools(
                    all={"type": "object", "properties": _ALL_KINDS},
                    list={"type": "object", "allOf": [{"properties": {"a": _ALL_KINDS["name"]}}]},
                    root={"type": "object", "x-mcp-header": "Root"},
                    echo={"type": "object"},
                    none=True,
                ),
            )
        },
        LIST_TOOLS,
        *(
            {"do": "call_tool", "name": "all", "arguments": arguments}
            for arguments in (
                {"name": "a b", "count": 5, "flag": True, "deep": {"x": "deep"}},
                {"name": "", "count": 5.0, "flag": False, "deep": "x"},
                {"name": " a", "count": -7, "flag": None, "deep": {"x": None}},
                {"name": "=?base64?YQ==?=", "count": 2**53 - 1},
                {"name": "=?base64?YQ==", "count": 1.5},
                {"name": "\t", "count": 2**53},
                {"name": [], "count": "5", "deep": {"x": "\u00e9"}},
                {},
            )
        ),
        HELLO,
        transports="http",
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

SESSIONS: tuple[Reaction, ...] = (
    *_HTTP,
    *_STREAMS,
    *_QUESTIONS,
    *_CACHE,
    *_KEPT,
    *_FIELDS,
)

"""Details of HTTP, event streams, sessions, logins and questions, each by its clause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.capture.collection.parts import EVERYTHING_DECLARED
from conformance.capture.collection.reactions.logins import json, login, refusal
from conformance.capture.collection.reactions.parts import (
    AGAIN,
    ANSWER,
    GONE,
    HELLO,
    LIST_TOOLS,
    ORIGIN,
    PING,
    TOOLS_CHANGED,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    Told,
    asked,
    plain,
    reaction,
    stream,
    told,
)
from conformance.capture.collection.reactions.stateless import USER, WHO, stateless
from conformance.scripts import Step

_TOKEN = "POST /token"
_LENGTHS = (
    "RFC 9110, 8.6; RFC 9112, 6.3: equal lengths are one, any other text is an error that ends "
    "the connection."
)
_EVENTS = "HTML, Server-sent events, 9.2.5 and 9.2.6: the mark at the start, line ends, fields."
_BUSY = "RFC 9110, 10.2.3: Retry-After says how long to wait; the limits of the call hold."
_DEVICE = {"grant": "authorization_code", "device": True}
_POLLED = "RFC 8628, 3.2 to 3.5: an address to visit, and codes until they expire."
_GRANTED = "RFC 6749, 5.1 and 5.2; RFC 6749, A.12: the fields of a token response."
_CHOSEN = "RFC 9728, 2 and 3.3; Authorization server discovery: the issuer that the user trusts."
_IDS = "JSON-RPC 2.0, 4: an id names a request until it is answered, or cancelled."
_CODES = "JSON-RPC 2.0, 5.1: an error has a code, a message, and data that its maker decides."
_FRESH = "Caching: a notification makes stale what was asked for before it."


def _of_length(number: int, *fields: str) -> Reply:
    head = ["HTTP/1.0 200 OK", "Content-Type: application/json", *fields]
    body = f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}'
    return Reply(0, body="\r\n".join([*head, "", body.ljust(49)]).encode("latin-1"))


def _called(name: str, clause: str, *replies: Reply, **members: Any) -> Reaction:
    plan = Plan({"tools/call": (*replies, USUAL)})
    return reaction(name, clause, plan, *[HELLO] * len(replies), PING, **members)


_LENGTH_FIELDS = (
    ("Content-Length: 49, 49",),
    ("Content-Length: 49", "Content-Length: 49"),
    ("Content-Length: 49 ,\t49,49",),
    *((f"Content-Length: {bad}",) for bad in ("4_9", "0x31", "\xb2", "-49", "49.0", "49;", "49,")),
    ("Content-Length: 49, 4_9",),
    ("Content-Length: 049",),
)

_CODED: dict[str, Any] = {
    "without-an-address": {"verification_uri": None},
    "with-many-addresses": {"verification_uri": [f"{ORIGIN}/enter"]},
    # It has expired before the first question may be asked.
    "that-expire-at-once": {"expires_in": 0.5},
}


def _codes(**members: Any) -> Reply:
    usual = {"device_code": "the-device-code", "user_code": "ABCD-EFGH", "interval": 1}
    return json(**{**usual, "verification_uri": f"{ORIGIN}/enter", **members})


def _form(kind: str) -> Reply:
    text = "access_token=the-token-with-the-number-1&token_type=bearer&expires_in=3600"
    return Reply(200, {"Content-Type": kind}, body=text.encode())


_USUAL_TOKEN = {"access_token": "the-token-with-the-number-1", "token_type": "Bearer"}
_TOKEN_REPLIES: dict[str, Reply] = {
    "in-text": _form("Text/Plain; charset=utf-8"),
    "in-a-page": _form("text/html"),
    "without-a-type": json(access_token="the-token-with-the-number-1"),
    "of-a-type-of-no-type": json(**{**_USUAL_TOKEN, "token_type": 5}),
    "of-no-type": json(access_token=["the-token-with-the-number-1"], token_type="Bearer"),
    "that-is-empty": json(access_token="", token_type="Bearer"),
    "with-an-error": json(**_USUAL_TOKEN, error="invalid_scope"),
    "with-an-error-of-no-type": json(400, error=5),
    "refused-with-a-token": json(400, **_USUAL_TOKEN),
    "with-scopes-of-no-type": json(**_USUAL_TOKEN, scope=["tools"]),
    **{
        f"that-lasts-{name}": json(**_USUAL_TOKEN, expires_in=time)
        for name, time in {
            "below-nothing": -5,
            "a-truth": True,
            "beyond-all-years": 1e300,
            "a-fraction-in-a-string": "3600.5",
        }.items()
    },
}

_TWO_SERVERS = {
    "GET /.well-known/oauth-protected-resource/mcp": (
        json(resource=f"{ORIGIN}/mcp", authorization_servers=[f"{ORIGIN}/tenant", ORIGIN]),
    ),
    "GET /.well-known/oauth-authorization-server/tenant": (plain(404),),
}


_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_MANAGED = "RFC 8693, 2.2; RFC 7523, 2.1: what is asked for is exchanged for a token of the server."
_ENTERPRISE: dict[str, Any] = {
    "grant": "enterprise",
    "value": "the-id-token-of-the-user",
    "options": {
        "client_id": "the-client-of-the-server",
        "provider": {"token_endpoint": f"{ORIGIN}/idp", "client_id": "the-client-there"},
    },
}


def _exchanged(kind: Any) -> Reply:
    return json(access_token="the-assertion-of-the-user", issued_token_type=kind, token_type="N_A")


def _asks(name: str, clause: str, *events: Any, **client: Any) -> Reaction:
    plan = Plan({"tools/call": (stream(*events, ANSWER), USUAL)})
    members = {"transports": "stdio http", "client": {**USER, **client}}
    return reaction(f"asks-{name}", clause, plan, HELLO, HELLO, **members)


_WHO: dict[str, Any] = WHO["params"]
_GONE_LATER = replace(GONE, after=Await("initialize", 2))
_TOGETHER: Step = {"do": "together", "steps": (PING, PING)}
_SECRET: Step = {
    "do": "call_tool",
    "name": "enter",
    "arguments": {"text": "hello", "password": "redacted-1"},
}
_SECRET_TOOL = {
    "name": "enter",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {}, "password": {"type": "string", "format": "password"}},
    },
}
_TAKES: dict[str, tuple[Reply, ...]] = {"tools/list": (Reply(result={"tools": [_SECRET_TOOL]}),)}
_GIVEN = "Tools: a call has the arguments that the user gave."
_PAGE = Reply(result={"tools": [], "nextCursor": "a"})
_KEPT_LIST: dict[str, Any] = {"tools": [], "ttlMs": 60_000, "cacheScope": "public"}

SESSIONS: tuple[Reaction, ...] = (
    _called(
        "answers-with-lengths",
        _LENGTHS,
        *(_of_length(number, *fields) for number, fields in enumerate(_LENGTH_FIELDS, 2)),
    ),
    _called(
        "answers-by-a-banner",
        "RFC 9112, 2.1 and 4: what begins with other bytes is no response, whatever may follow.",
        Reply(0, body=b"220 smtp.example.com\r\n\r\n"),
        Reply(0, body=b"HTTP/1.1 2000 OK\r\n\r\n"),
        Reply(0, body=b"HTTP/1.1\r\n\r\n"),
    ),
    _called(
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
    reaction(
        "session-lost-for-all-at-once",
        AGAIN,
        Plan({"ping": (GONE, _GONE_LATER, USUAL)}),
        _TOGETHER,
        HELLO,
    ),
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
    *(
        login(
            f"device-codes-{name}",
            _POLLED,
            HELLO,
            auth=_DEVICE,
            replies={"POST /device": (_codes(**members),)},
        )
        for name, members in _CODED.items()
    ),
    login(
        "device-unknown-to-the-server",
        _POLLED,
        HELLO,
        auth=_DEVICE,
        replies={"POST /device": (refusal("invalid_client", 401),)},
    ),
    *(
        login(f"token-{name}", _GRANTED, HELLO, replies={_TOKEN: (reply, USUAL)})
        for name, reply in _TOKEN_REPLIES.items()
    ),
    *(
        login(f"at-{name}", _CHOSEN, HELLO, auth=auth, replies=_TWO_SERVERS)
        for name, auth in {
            "the-first-of-two-servers": None,
            "the-trusted-of-two-servers": {
                "grant": "authorization_code",
                "options": {"issuer": ORIGIN},
            },
        }.items()
    ),
    *(
        login(
            f"of-an-enterprise-{name}",
            _MANAGED,
            HELLO,
            auth={**_ENTERPRISE, **auth},
            replies={"POST /idp": (reply,)},
        )
        for name, reply, auth in (
            ("as-usual", _exchanged(_ID_JAG), {}),
            ("for-a-scope", _exchanged(_ID_JAG), {"scope": "tools more"}),
            ("by-another-token", _exchanged("urn:ietf:params:oauth:token-type:jwt"), {}),
            ("by-a-token-of-no-kind", _exchanged(None), {}),
            ("that-refuses", refusal("invalid_grant"), {}),
        )
    ),
    *(
        reaction(
            f"headers-printed-{printed}",
            "RFC 9110, 15.5.2: a 401 is repeated with credentials that are new, and no others.",
            Plan({"tools/call": (plain(401), USUAL), "ping": (plain(403), USUAL)}),
            HELLO,
            HELLO,
            PING,
            client={"options": {"headers_printed": printed}},
        )
        for printed in ("anew", "again")
    ),
    _asks(
        "by-an-id-that-is-free-again",
        _IDS,
        asked(7, "elicitation/create", **_WHO),
        Await("answer"),
        asked(7, "elicitation/create", **_WHO),
        Await("answer", 2),
        asked(7, "ping"),
        Await("answer", 3),
    ),
    _asks(
        "again-what-it-has-cancelled",
        _IDS,
        asked(7, "elicitation/create", **_WHO),
        told("notifications/cancelled", requestId=7, reason="no more"),
        asked(7, "ping"),
        Await("answer"),
        elicitation=[{"never": True}],
    ),
    _asks(
        "a-user-whose-function-has-a-code",
        _CODES,
        asked(7, "elicitation/create", **_WHO),
        Await("answer"),
        asked(8, "sampling/createMessage", messages=[], maxTokens=1),
        Await("answer", 2),
        capabilities=EVERYTHING_DECLARED,
        elicitation=[{"refuses": {"code": -32050, "message": "No", "data": {"a": [1]}}}],
        sampling=[{"refuses": {"code": -1, "message": "No"}}],
    ),
    stateless("takes-a-secret-statelessly", _GIVEN, _TAKES, LIST_TOOLS, _SECRET),
    reaction(
        "takes-a-secret",
        _GIVEN,
        Plan(_TAKES),
        LIST_TOOLS,
        _SECRET,
        {"do": "call_tools", "calls": [["enter", _SECRET["arguments"]]]},
        transports="stdio http",
    ),
    reaction(
        "watched-and-refused",
        "Prompts, tools: what the user has refused is not sent.",
        Plan(),
        {"do": "get_prompt", "name": "forbidden", "arguments": {}},
        {**HELLO, "name": "forbidden"},
        PING,
        client={"options": {"watched": True}},
    ),
    *(
        reaction(
            f"lists-{name}",
            "Lifecycle, Timeouts: requests SHOULD have limits, and are cancelled at their end.",
            Plan({"tools/list": (*replies, Reply(events=(Await("never"),)), USUAL)}),
            {**LIST_TOOLS, **limits},
            LIST_TOOLS,
            transports="stdio http",
        )
        for name, replies, limits in (
            ("for-a-time-of-silence", (), {"timeout": 0.4}),
            ("page-after-page-for-a-time", (_PAGE,), {"total": 0.4}),
            ("page-after-page-in-silence", (_PAGE,), {"timeout": 0.4}),
        )
    ),
    stateless(
        "changes-while-a-list-is-on-its-way",
        _FRESH,
        {
            "tools/list": (
                Reply(events=(TOOLS_CHANGED, ANSWER), result=_KEPT_LIST),
                Reply(result=_KEPT_LIST),
            )
        },
        LIST_TOOLS,
        LIST_TOOLS,
        LIST_TOOLS,
        transports="stdio http",
    ),
)

"""Options of this library, and functions of the program around it, that decide what is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.capture.collection.parts import EVERYTHING_DECLARED
from conformance.capture.collection.reactions.parts import (
    AGAIN,
    ANSWER,
    HELLO,
    LIST_TOOLS,
    PING,
    TOOLS_CHANGED,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    asked,
    error,
    plain,
    reaction,
    stream,
    told,
)
from conformance.capture.collection.reactions.stateless import READ, USER, WHO, stateless
from conformance.scripts import Step

_ADDRESS: dict[str, Any] = {
    "message": "Where?",
    "requestedSchema": {
        "type": "object",
        "properties": {"address": {"type": "string", "format": "email"}},
    },
}
_PROMPT: Step = {"do": "get_prompt", "name": "greeting", "arguments": {"text": "hello"}}
_FORBIDDEN: Step = {**HELLO, "name": "forbidden"}
_CALLS: Step = {
    "do": "call_tools",
    "calls": [["echo", {"text": each}] for each in ("one", "two", "three", "four")],
}
_AFTER_ALL = Reply(events=(Await("tools/call", 4), ANSWER))
_WANTED = {"resultType": "input_required"}
_LONG = "x" * 3000
_SAID = (
    "Tools, Security Considerations: what the user has changed or refused before a call is what "
    "is sent, and nothing else."
)
_LIMITED = (
    "Lifecycle, Timeouts: requests SHOULD have limits; no more is sent than the program allows."
)
_TOO_LONG = "Base protocol: a message over the client's limit is not taken; others are."
_FAILING = "JSON-RPC 2.0, 5.1: -32603 where the client's own function fails."


def _both(name: str, clause: str, replies: Any, *steps: Step, **members: Any) -> list[Reaction]:
    """Return a session in either era."""
    members.setdefault("transports", "stdio http")
    return [
        reaction(name, clause, Plan(replies), *steps, **members),
        stateless(f"{name}-statelessly", clause, replies, *steps, **members),
    ]


def _visits(*urls: str) -> Reply:
    found = [
        {"message": "Go", "elicitationId": f"visit-{number}", "url": url}
        for number, url in enumerate(urls)
    ]
    return error(-32042, "A visit is needed", elicitations=found)


_TOGETHER = (
    *_both(
        "called-together",
        "JSON-RPC 2.0, 4: requests in flight are told apart by their ids, and fail each alone.",
        {
            "tools/call": (
                _AFTER_ALL,
                replace(_AFTER_ALL, error={"code": -32602, "message": "No"}),
                _AFTER_ALL,
                replace(_AFTER_ALL, result={"content": [], "isError": True}),
                USUAL,
            )
        },
        _CALLS,
        HELLO,
        transports="http",
    ),
    stateless(
        "called-together-and-asked",
        "MRTR: each request that wants input is retried by itself.",
        {
            "tools/call": (
                _AFTER_ALL,
                replace(_AFTER_ALL, result={**_WANTED, "inputRequests": {"who": WHO}}),
                _AFTER_ALL,
                _AFTER_ALL,
                USUAL,
            )
        },
        _CALLS,
        HELLO,
        client=USER,
        transports="stdio",
    ),
    reaction(
        "called-together-in-a-lost-session",
        AGAIN,
        Plan({"tools/call": (error(-32001, "Session not found", 404), USUAL)}),
        {**_CALLS, "calls": _CALLS["calls"][:1]},
        HELLO,
    ),
)

_BARE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {"name": "bare", "version": "0"},
}
_WATCHED = (
    reaction(
        "watched-and-refused",
        "Prompts, tools: what the user has refused is not sent.",
        Plan(),
        {"do": "get_prompt", "name": "forbidden", "arguments": {}},
        {**HELLO, "name": "forbidden"},
        PING,
        client={"options": {"watched": True}},
    ),
    *_both(
        "watched",
        _SAID,
        {},
        LIST_TOOLS,
        HELLO,
        _FORBIDDEN,
        READ,
        _PROMPT,
        {**HELLO, "meta": {"com.example/a": 1}},
        {"do": "subscribe", "uri": "test://one"},
        client={"options": {"watched": True}},
        transports="http",
    ),
    reaction(
        "watched-without-tools",
        _SAID,
        Plan({"initialize": (Reply(result=_BARE),)}),
        PING,
        client={"options": {"watched": True}},
        transports="stdio http",
    ),
    reaction(
        "watched-as-it-exits",
        "stdio: the end of a server's output ends the connection, and every call that waits.",
        Plan({"tools/call": (Reply(events=("bye\n",), cut=True),)}),
        HELLO,
        HELLO,
        client={"options": {"watched": True}},
        transports="stdio",
    ),
    reaction(
        "watched-as-it-strays",
        "JSON-RPC 2.0, 5: a response has the id of its request; what has none answers no request.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        events=(
                            *({"jsonrpc": "2.0", "id": id, "result": {}} for id in (1, 77)),
                            told("notifications/progress", progressToken=5, progress=1),
                            '{"jsonrpc":"2.0","method":5}\n',
                            '{"jsonrpc":"2.0","id":\n',
                            ANSWER,
                        )
                    ),
                )
            }
        ),
        HELLO,
        PING,
        client={"options": {"watched": True}},
        transports="stdio",
    ),
    *(
        reaction(
            f"watched-as-it-breaks-over-{transport}",
            "Transports: a connection that is lost ends what waits for it, and may be made again.",
            Plan({"tools/call": (Reply(events=(), cut=True), USUAL)}),
            HELLO,
            HELLO,
            client={"options": {"watched": True}},
            transports=transport,
        )
        for transport in ("sse", "ws")
    ),
    reaction(
        "watched-without-a-list",
        _SAID,
        Plan({"tools/list": (error(-32603, "Failed"),)}),
        HELLO,
        client={"options": {"watched": True}},
    ),
)

_PAGE = Reply(result={"tools": [], "nextCursor": "a"})
_LIMITS = (
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
    *_both(
        "limited-to-one-at-once",
        _LIMITED,
        {"tools/call": (Reply(events=(Await("tools/list"), ANSWER)), USUAL)},
        {"do": "together", "steps": (HELLO, HELLO, READ, LIST_TOOLS)},
        client={"options": {"limits": {"at_once": 1}}},
    ),
    reaction(
        "limited-by-a-breaker",
        _LIMITED,
        Plan({"tools/call": (error(-32603, "Failed"), error(-32603, "Failed"), USUAL)}),
        HELLO,
        HELLO,
        HELLO,
        PING,
        client={"options": {"limits": {"breaker": 2}}},
    ),
    *(
        reaction(
            f"limited-in-time-{name}",
            _LIMITED,
            Plan({"tools/call": (Reply(events=(Await("never"),)), USUAL)}),
            HELLO,
            HELLO,
            client={"options": options},
        )
        for name, options in {
            "by-the-client": {"timeout": 0.3},
            "in-all": {"max_timeout": 0.3},
            "by-the-tool": {"limits": {"timeouts": {"ec*": 0.3}}, "max_timeout": 5},
        }.items()
    ),
    reaction(
        "limited-in-the-time-of-a-list",
        _LIMITED,
        Plan(
            {
                "tools/list": (
                    Reply(result={"tools": [], "nextCursor": "a"}),
                    Reply(events=(Await("never"),)),
                )
            }
        ),
        LIST_TOOLS,
        PING,
        client={"options": {"max_timeout": 0.4}},
    ),
    reaction(
        "renews-a-session-in-no-time",
        _LIMITED,
        Plan(
            {
                "tools/call": (error(-32001, "Session not found", 404), USUAL),
                "initialize": (USUAL, Reply(events=(Await("never"),)), USUAL),
            }
        ),
        {**HELLO, "total": 0.4},
        HELLO,
    ),
    reaction(
        "listens-to-silence",
        "Streamable HTTP, Listening for Messages: a client MAY reconnect a stream that is dead.",
        Plan(
            {
                "GET": (
                    stream(TOOLS_CHANGED, Await("never")),
                    stream(TOOLS_CHANGED, Await("DELETE")),
                )
            }
        ),
        {"do": "wait_for", "method": "notifications/tools/list_changed", "count": 2},
        HELLO,
        client={"options": {"liveness": 0.4}},
    ),
)

_SIZES = (
    reaction(
        "says-too-much",
        _TOO_LONG,
        Plan(
            {
                "tools/call": (
                    Reply(result={"content": [{"type": "text", "text": _LONG}]}),
                    Reply(events=(f"{_LONG}\n", ANSWER)),
                    Reply(events=(told("x", a=_LONG), ANSWER)),
                    USUAL,
                )
            }
        ),
        *[HELLO] * 4,
        transports="stdio",
        client={"options": {"max_message_size": 2000}},
    ),
    reaction(
        "says-too-much-over-http",
        _TOO_LONG,
        Plan(
            {
                "tools/call": (
                    Reply(result={"content": [{"type": "text", "text": _LONG}]}),
                    stream(f"data: {_LONG}\n\n", ANSWER),
                    stream(f"id: 1\ndata: {_LONG[:1000]}\ndata: {_LONG}\n\n"),
                    USUAL,
                )
            }
        ),
        *[HELLO] * 4,
        client={"options": {"max_message_size": 2000}},
    ),
    reaction(
        "says-too-much-by-sse",
        _TOO_LONG,
        Plan({"tools/call": (stream(f"data: {_LONG}\n\n", ANSWER), USUAL)}),
        HELLO,
        HELLO,
        transports="sse",
        client={"options": {"max_message_size": 2000}},
    ),
)

_RAIN = {"role": "user", "content": {"type": "text", "text": "Is it raining?"}}


def _asks(name: str, clause: str, *questions: Any, **client: Any) -> Reaction:
    replies = tuple(
        stream(question, Await("answer", number), ANSWER)
        for number, question in enumerate(questions, 1)
    )
    steps = [HELLO] * len(replies)
    client.setdefault("capabilities", EVERYTHING_DECLARED)
    members = {"transports": "stdio http", "client": {**USER, **client}}
    return reaction(f"asks-{name}", clause, Plan({"tools/call": replies}), *steps, **members)


_ASKED = (
    _asks(
        "a-model",
        "Sampling: the client asks a model, within maxTokens, and may say no.",
        *(
            asked(number, "sampling/createMessage", messages=[_RAIN], maxTokens=most)
            for number, most in enumerate((5, 20, 100))
        ),
        capabilities={"sampling": {}},
        options={"model": "this-one"},
    ),
    _asks(
        "a-function-for-roots",
        "Roots: root URIs are file:// URIs; -32603 where the client fails.",
        asked(1, "roots/list"),
        options={"roots_when_asked": ["file:///a", "/b/c", {"uri": "file:///d", "name": "D"}]},
    ),
    _asks(
        "a-function-for-roots-that-returns-others",
        "Roots: root URIs are file:// URIs; -32603 where the client fails.",
        asked(1, "roots/list"),
        options={"roots_when_asked": ["https://example.com/"]},
    ),
    _asks(
        "a-user-whose-function-fails",
        _FAILING,
        asked(1, "elicitation/create", **WHO["params"]),
        asked(2, "sampling/createMessage", messages=[_RAIN], maxTokens=100),
        elicitation=[{"raises": "no"}],
        sampling=[{"raises": "no"}],
    ),
    _asks(
        "a-user-who-answers-in-no-format",
        "Elicitation: clients SHOULD validate responses against the schema, with its formats.",
        *(asked(number, "elicitation/create", **_ADDRESS) for number in (1, 2)),
        elicitation=[
            {"action": "accept", "content": {"address": each}}
            for each in ("nowhere", "someone@example.com")
        ],
    ),
    _asks(
        "a-user-who-answers-what-there-is-not",
        _FAILING,
        asked(1, "elicitation/create", **WHO["params"]),
        asked(2, "elicitation/create", **WHO["params"]),
        asked(3, "sampling/createMessage", messages=[_RAIN], maxTokens=100),
        elicitation=[{"action": "perhaps"}, {"action": "accept", "content": {"name": [1]}}],
        sampling=[{"content": 5}],
    ),
    *(
        reaction(
            f"wants-a-visit{name}",
            "Elicitation, URLElicitationRequiredError: after the visit the call is made again.",
            Plan({"tools/call": (_visits(*urls), USUAL)}),
            HELLO,
            HELLO,
            transports="stdio http",
            client={**USER, "elicitation": [{"action": action}]},
        )
        for name, action, urls in (
            ("", "accept", ("https://example.com/a", "https://example.com/b")),
            ("-of-nobody", "accept", ()),
            ("-of-one-who-declines", "decline", ("https://example.com/a",)),
            ("-somewhere-unsafe", "accept", ("javascript:alert(1)",)),
            ("-too-often", "accept", ("https://example.com/a",) * 21),
        )
    ),
    stateless(
        "wants-too-much-input",
        "MRTR: a client bounds what it does for one call.",
        {
            "tools/call": (
                Reply(
                    result={
                        "resultType": "input_required",
                        "inputRequests": {str(key): {"method": "roots/list"} for key in range(101)},
                    }
                ),
                USUAL,
            )
        },
        HELLO,
        HELLO,
        client=USER,
        transports="http",
    ),
)

_HEADERS = (
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
    *_both(
        "headers-by-a-function",
        "Streamable HTTP: each request carries the headers; those of the protocol are its own.",
        {"tools/call": (plain(401), USUAL)},
        HELLO,
        HELLO,
        client={"options": {"headers_when_asked": {"Accept-Language": "de", "Accept": "nothing"}}},
        transports="http",
    ),
    *(
        reaction(
            f"identified-by-a-{kind}",
            "Logins: what the caller has for a server goes with each request to it, only there.",
            Plan({"tools/call": (plain(401), plain(307, Location="/mcp?b"), USUAL)}),
            HELLO,
            HELLO,
            auth={"grant": kind, "value": "the-value-of-a-key"},
        )
        for kind in ("key", "bearer")
    ),
)

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


def _requested(method: str, **params: Any) -> Step:
    return {"do": "request", "method": method, "params": params}


_META = {"com.example/a": 1}
_BY_METHOD = reaction(
    "watched-by-method",
    "Base protocol: _meta is the user's; what hooks leave alone is sent as it is.",
    Plan(),
    _requested("tools/call", name="echo", arguments={}, _meta=_META),
    _requested("tools/call", name="echo", arguments={"text": "hello"}, _meta=_META),
    _requested("prompts/get", name="greeting", arguments={"of": "day"}, _meta=_META),
    _requested("resources/read", uri="test://one", _meta=_META),
    _requested("x/of-no-one", uri="test://one", _meta=_META),
    {"do": "request", "method": "ping"},
    client={"options": {"watched": True}},
)
_SECRETS = (
    _BY_METHOD,
    reaction(
        "takes-a-secret-by-method",
        _GIVEN,
        Plan(_TAKES),
        LIST_TOOLS,
        _requested("tools/call", name="enter", arguments=_SECRET["arguments"]),
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
)

SESSIONS: tuple[Reaction, ...] = (
    *_TOGETHER,
    *_WATCHED,
    *_LIMITS,
    *_SIZES,
    *_ASKED,
    *_HEADERS,
    *_SECRETS,
)

"""Results that are kept: for how long, for whom, and until which change."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    LIST_TOOLS,
    TOOLS_CHANGED,
    USUAL,
    Await,
    Reaction,
    Reply,
    cookies,
    error,
    stream,
    told,
    wait,
)
from conformance.capture.collection.reactions.stateless import READ, stateless
from conformance.scripts import Step


def _kept(scope: str, text: str = "") -> Reply:
    contents = [{"uri": "test://one", "text": text}]
    return Reply(result={"contents": contents, "ttlMs": 60_000, "cacheScope": scope})


_FRESH = "Caching: a notification makes stale what was asked for before it."
_TWO: Step = {**READ, "uri": "test://two"}
_MARKED: Step = {**READ, "meta": {"com.example/a": 1, "com.example/b": 2}}
_LISTENED = {"io.modelcontextprotocol/subscriptionId": "{id}"}
_TEMPLATES: Step = {"do": "list_resource_templates"}


def _listening(*events: Any, **wanted: Any) -> Reply:
    yes = told("notifications/subscriptions/acknowledged", notifications=wanted, _meta=_LISTENED)
    return stream(yes, *events)


_KEPT_LIST: dict[str, Any] = {"tools": [], "ttlMs": 60_000, "cacheScope": "public"}

SESSIONS: tuple[Reaction, ...] = (
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
    stateless(
        "keeps-what-is-another-s",
        "Caching: a private result is not another authorization's, which a cookie may be.",
        {
            "resources/read": (_kept("private", "1"), _kept("private", "2"), _kept("public", "3")),
            "tools/call": (cookies("a=1; Path=/"), USUAL),
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

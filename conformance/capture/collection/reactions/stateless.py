"""The stateless era: the cache, headers, subscriptions, and rounds of input."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.parts import EVERYTHING_DECLARED, FOLDER, MODEL_ANSWER
from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    LIST_TOOLS,
    LOG,
    RESOURCES_CHANGED,
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
from conformance.scripts import Step

_SUBSCRIPTION = {"io.modelcontextprotocol/subscriptionId": "{id}"}
READ: Step = {"do": "read_resource", "uri": "test://one"}
_LIST_RESOURCES: Step = {"do": "list_resources"}


def stateless(
    name: str, clause: str, replies: dict[str, tuple[Reply, ...]], *steps: Step, **members: Any
) -> Reaction:
    offers = members.pop("capabilities", {})
    plan = Plan(replies, is_stateless=True, has_session=False, capabilities=offers)
    members.setdefault("transports", "stdio http")
    return reaction(name, clause, plan, *steps, **members)


# The cache


def _kept(result: dict[str, Any], ttl: Any = 60_000, scope: str = "public") -> Reply:
    return Reply(result={**result, "ttlMs": ttl, "cacheScope": scope})


def _text(text: str) -> dict[str, Any]:
    return {"contents": [{"uri": "test://one", "text": text}]}


def _update(uri: Any) -> dict[str, Any]:
    return told("notifications/resources/updated", uri=uri, _meta=_SUBSCRIPTION)


def _listening(*events: Any, cut: bool = False, **wanted: Any) -> Reply:
    """Return a subscription that says yes, and this."""
    yes = told(
        "notifications/subscriptions/acknowledged", notifications=wanted, _meta=_SUBSCRIPTION
    )
    return stream(yes, *events, cut=cut)


def _listen(*steps: Step, until: str, count: int = 1, **wanted: Any) -> Step:
    awaited = {"method": f"notifications/{until}", "count": count}
    return {"do": "listen", **wanted, "steps": steps, "until": awaited}


_FRESH = "Caching: a result is fresh for ttlMs; none, zero or a negative one is stale at once."
_STALE = "Caching: a client SHOULD drop what a notification makes stale, also when it is fresh."

_CACHE = (
    stateless(
        "keeps-by-ttl",
        _FRESH,
        {
            "resources/read": (
                _kept(_text("1"), -1),
                _kept(_text("2"), "60000"),
                _kept(_text("3"), True),
                Reply(result=_text("4")),
                _kept(_text("5"), 60_000, "private"),
                _kept(_text("6"), 60_000),
                _kept(_text("7"), 60_000),
            ),
            "resources/list": (_kept({"resources": []}, 300), _kept({"resources": []}, 60_000.5)),
        },
        *[READ] * 8,
        {**READ, "uri": "test://two"},
        _LIST_RESOURCES,
        _LIST_RESOURCES,
        {"do": "pause", "seconds": 0.5},
        _LIST_RESOURCES,
        _LIST_RESOURCES,
        transports="http",
    ),
    stateless(
        "updates-what-is-fresh",
        _STALE,
        {
            "resources/read": (
                _kept(_text("1")),
                _kept({"contents": []}),
                _kept(_text("2")),
                _kept(_text("3")),
            ),
            "subscriptions/listen": (
                _listening(
                    Await("tools/call"),
                    _update("test://one/part"),
                    Await("tools/call", 2),
                    _update("test://other"),
                    Await("tools/call", 3),
                    told("notifications/resources/updated", _meta=_SUBSCRIPTION),
                    Await("tools/call", 4),
                    resourceSubscriptions=["test://one"],
                ),
            ),
        },
        READ,
        {**READ, "uri": "test://two"},
        _listen(
            READ,
            HELLO,
            {"do": "wait_for", "method": "notifications/resources/updated", "count": 1},
            READ,
            {**READ, "uri": "test://two"},
            HELLO,
            {"do": "wait_for", "method": "notifications/resources/updated", "count": 2},
            READ,
            HELLO,
            until="resources/updated",
            count=3,
            uris=["test://one"],
        ),
        READ,
    ),
    stateless(
        "changes-what-is-fresh",
        _STALE,
        {
            "tools/list": (_kept({"tools": []}), _kept({"tools": []})),
            "resources/list": (_kept({"resources": []}),),
            "prompts/list": (_kept({"prompts": []}),),
            "subscriptions/listen": (
                _listening(
                    Await("tools/call"),
                    told("notifications/tools/list_changed", _meta=_SUBSCRIPTION),
                    Await("tools/call", 2),
                    toolsListChanged=True,
                ),
            ),
        },
        LIST_TOOLS,
        _LIST_RESOURCES,
        {"do": "list_prompts"},
        _listen(HELLO, until="tools/list_changed", tools=True, prompts=True),
        LIST_TOOLS,
        _LIST_RESOURCES,
        {"do": "list_prompts"},
        LIST_TOOLS,
    ),
    stateless(
        "refuses-what-was-kept",
        _FRESH,
        {"resources/read": (_kept(_text("1"), 200), error(-32602, "gone"), _kept(_text("2")))},
        READ,
        {"do": "pause", "seconds": 0.4},
        READ,
        READ,
        READ,
        transports="http",
    ),
)

# Subscriptions

_LISTENS = (
    "Subscriptions: the server acknowledges what it will tell of; either side ends it; a client "
    "listens anew on a new connection."
)
_SUBSCRIPTIONS = (
    stateless(
        "acknowledges-a-part",
        _LISTENS,
        {
            "subscriptions/listen": (
                _listening(
                    told("notifications/resources/list_changed", _meta=_SUBSCRIPTION),
                    Await("tools/call"),
                    resourcesListChanged=True,
                ),
            )
        },
        _listen(until="resources/list_changed", resources=True, tools=True),
        HELLO,
    ),
    stateless(
        "refuses-to-listen",
        _LISTENS,
        {"subscriptions/listen": (error(-32601, "Method not found", 404), error(-32602, "No"))},
        _listen(until="tools/list_changed", tools=True),
        _listen(until="tools/list_changed", tools=True),
        HELLO,
    ),
    stateless(
        "falls-silent-in-a-subscription",
        _LISTENS,
        {
            "subscriptions/listen": (
                _listening(RESOURCES_CHANGED, Await("never"), resourcesListChanged=True),
                _listening(Await("tools/call", 2), resourcesListChanged=True),
            ),
            "tools/call": (Reply(events=(LOG, Await("subscriptions/listen", 2), ANSWER)), USUAL),
        },
        _listen(HELLO, until="resources/list_changed", resources=True),
        HELLO,
        client={"options": {"liveness": 0.4}},
        transports="http",
    ),
    stateless(
        "ends-a-subscription",
        _LISTENS,
        {
            "subscriptions/listen": (
                _listening(RESOURCES_CHANGED, ANSWER, resourcesListChanged=True),
                _listening(Await("tools/call", 2), resourcesListChanged=True),
            )
        },
        _listen(until="resources/list_changed", resources=True),
        HELLO,
        HELLO,
        transports="http",
    ),
    stateless(
        "loses-a-subscription",
        _LISTENS,
        {
            "subscriptions/listen": (
                _listening(
                    told("notifications/resources/list_changed", _meta=_SUBSCRIPTION),
                    resourcesListChanged=True,
                    cut=True,
                ),
                plain(503),
                _listening(
                    told("notifications/resources/list_changed", _meta=_SUBSCRIPTION),
                    Await("tools/call"),
                    resourcesListChanged=True,
                ),
            )
        },
        _listen(until="resources/list_changed", count=2, resources=True),
        HELLO,
        transports="http",
    ),
)

# Headers

_QUERY: Step = {
    "do": "call_tool",
    "name": "query",
    "arguments": {"region": "Zürich", "limit": 5, "deep": {"flag": True, "none": None}},
}


def _query(header: Any, **more: Any) -> Reply:
    region = {"type": "string", "x-mcp-header": header}
    properties = {"region": region, "limit": {"type": "integer"}, **more}
    schema = {"type": "object", "properties": properties}
    return Reply(result={"tools": [{"name": "query", "inputSchema": schema}]})


_MISMATCH = error(-32020, "Header mismatch", 400)
_MENDED = (
    "Streamable HTTP, Header Mismatch (SEP-2243): on -32020 the client lists the tools again, and "
    "calls once more."
)
_DEEP = {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}}
_HEADERS = (
    stateless(
        "wants-other-headers",
        _MENDED,
        {
            "tools/list": (_query("Region"), _query("Place", deep=_DEEP)),
            "tools/call": (USUAL, _MISMATCH, USUAL),
        },
        LIST_TOOLS,
        _QUERY,
        _QUERY,
        _QUERY,
        transports="http",
    ),
    stateless(
        "wants-other-headers-always",
        _MENDED,
        {"tools/list": (_query("Region"),), "tools/call": (_MISMATCH,)},
        LIST_TOOLS,
        _QUERY,
        transports="http",
    ),
    stateless(
        "describes-headers-badly",
        "Tools, x-mcp-header: a client MUST reject a definition whose annotation is invalid.",
        {
            "tools/list": (
                _query("Not a name"),
                _query(5),
                _query("limit", limit={"type": "integer", "x-mcp-header": "LIMIT"}),
                _query("Deep", deep={**_DEEP, "x-mcp-header": "Whole"}),
                _query("Any", any={"anyOf": [{"type": "string", "x-mcp-header": "Some"}]}),
                _query("Ok", number={"type": "number", "x-mcp-header": "Number"}),
            )
        },
        *[LIST_TOOLS] * 6,
        transports="http",
    ),
    stateless(
        "refuses-in-its-era",
        "Base protocol, errors: codes of the stateless era reach the caller as they are.",
        {
            "tools/call": (
                error(-32021, "Missing capability", 400, requiredCapabilities={"sampling": {}}),
                error(-32022, "Unsupported", 400, supported=["2031-01-01"]),
                error(-32601, "Method not found", 404),
                error(-32602, "Invalid params", 400),
                plain(404),
                plain(400),
                USUAL,
            )
        },
        *[HELLO] * 7,
        transports="http",
    ),
)

# Rounds of input

WHO: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
_ADA = {"action": "accept", "content": {"name": "Ada"}}
USER: dict[str, Any] = {
    "capabilities": EVERYTHING_DECLARED,
    "elicitation": [_ADA],
    "sampling": [MODEL_ANSWER],
    "roots": [FOLDER],
}


def _wants(requests: Any = None, **more: Any) -> Reply:
    asked_for = {} if requests is None else {"inputRequests": requests}
    return Reply(result={"resultType": "input_required", **asked_for, **more})


_ROUNDS = (
    stateless(
        "wants-input",
        "MRTR: requestState goes back as it came, and only if it came; answers go with their keys.",
        {
            "tools/call": (
                _wants({"who": WHO, "at": {"method": "roots/list"}}, requestState="one"),
                _wants(requestState="two"),
                _wants({"who": WHO}, requestState=None),
                _wants({}, requestState=""),
                USUAL,
            )
        },
        HELLO,
        HELLO,
        client=USER,
    ),
    stateless(
        "wants-input-badly",
        "MRTR: an unknown resultType is an error; input may be asked for by three methods only.",
        {
            "tools/call": (
                Reply(result={"resultType": "later"}),
                Reply(result={"resultType": 5}),
                _wants(),
                _wants({}),
                _wants([]),
                _wants({"a": {"method": "tools/list"}}),
                _wants({"a": "elicitation/create"}),
                _wants({"a": {"method": "elicitation/create", "params": []}}),
                _wants({"a": {"method": "roots/list", "params": None}}),
                USUAL,
            ),
            "tools/list": (_wants({"who": WHO}),),
        },
        *[HELLO] * 9,
        LIST_TOOLS,
        client=USER,
    ),
    stateless(
        "wants-input-of-a-user-who-declines",
        "MRTR, elicitation: to decline and to cancel are answers.",
        {"tools/call": (_wants({"who": WHO}), _wants({"who": WHO}), USUAL)},
        HELLO,
        client={**USER, "elicitation": [{"action": "decline"}, {"action": "cancel"}]},
    ),
    stateless(
        "asks-in-the-stateless-era",
        "Patterns: servers send no requests; clients send no responses.",
        {"tools/call": (stream(asked(7, "elicitation/create", **WHO["params"]), ANSWER), USUAL)},
        HELLO,
        HELLO,
        client=USER,
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


SESSIONS: tuple[Reaction, ...] = (
    *_CACHE,
    *_SUBSCRIPTIONS,
    *_HEADERS,
    *_ROUNDS,
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
)

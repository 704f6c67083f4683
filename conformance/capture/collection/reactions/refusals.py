"""Finer points of both eras: results that are kept, ends of responses, answers of users."""

from __future__ import annotations

import gzip
from typing import Any

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    GONE,
    HELLO,
    LIST_TOOLS,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    asked,
    plain,
    reaction,
    stream,
)
from conformance.capture.collection.reactions.stateless import READ, USER, WHO, stateless

_JSON = {"Content-Type": "application/json"}
_DONE = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
_WANTED: Any = {"resultType": "input_required", "inputRequests": {"who": WHO}}
_KEPT = {"contents": [{"uri": "test://one", "text": "1"}], "ttlMs": 60_000, "cacheScope": "public"}

_LONG_REFUSAL = Reply(
    500,
    {"Content-Type": "text/plain", "Content-Encoding": "gzip"},
    body=gzip.compress(b"x" * 70_000, mtime=0),
)


_PARAMETER = {"type": "string", "x-mcp-header": "Deep"}


def _deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = _PARAMETER
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _aside(depth: int, *ways: str) -> dict[str, Any]:
    """Return a schema whose parameter is below other members than properties, taken in turn."""
    schema: dict[str, Any] = _PARAMETER
    for number in range(depth):
        way = ways[number % len(ways)]
        schema = {way: [schema]} if way == "anyOf" else {way: schema}
    return schema


def _nested(depth: int) -> dict[str, Any]:
    arguments: Any = "b"
    for _ in range(depth):
        arguments = {"a": arguments}
    return dict(arguments)


# A step into properties is one level, into another member one, and into a list one more.
_BOTTOMS = [
    {"name": f"by-{name}-{depth}", "inputSchema": {"type": "object", **schema}}
    for name, depths, schema_at in (
        ("properties", (64, 65), _deep),
        ("items", (64, 65), lambda depth: _aside(depth, "not")),
        ("lists", (32, 33), lambda depth: _aside(depth, "anyOf")),
        ("both", (42, 43), lambda depth: _aside(depth, "anyOf", "not")),
    )
    for depth in depths
    for schema in [schema_at(depth)]
]

SESSIONS: tuple[Reaction, ...] = (
    stateless(
        "names-a-session-statelessly",
        "Streamable HTTP (2026-07-28): there are no sessions; 404 is an error of its request.",
        {
            "tools/call": (
                Reply(headers={"Mcp-Session-Id": "the-id-of-session-1"}),
                Reply(404, GONE.headers, error=GONE.error),
                USUAL,
            )
        },
        *[HELLO] * 4,
        transports="http",
    ),
    stateless(
        "keeps-no-answer-to-input",
        "Caching: what depends on the user's input is not another request's.",
        {"resources/read": (Reply(result=_WANTED), Reply(result=_KEPT))},
        *[READ] * 3,
        client=USER,
        transports="http",
    ),
    stateless(
        "keeps-nothing",
        "Caching: a client MAY keep results; one that does not asks each time.",
        {"resources/read": (Reply(result=_KEPT),)},
        *[READ] * 3,
        client={"options": {"cache": False}},
        transports="http",
    ),
    stateless(
        "describes-headers-at-any-depth",
        "Streamable HTTP, Custom Headers (SEP-2243): a property that is reachable from the root.",
        {
            "tools/list": (
                Reply(
                    result={
                        "tools": [
                            {"name": f"at-{depth}", "inputSchema": _deep(depth)}
                            for depth in (1, 9, 40)
                        ]
                        + [
                            {
                                "name": "listed",
                                "inputSchema": {"properties": [_deep(0)], "type": "object"},
                            }
                        ]
                    }
                ),
            )
        },
        LIST_TOOLS,
        {"do": "call_tool", "name": "at-1", "arguments": {"a": "b"}},
        {"do": "call_tool", "name": "at-9", "arguments": {"a": {"a": "b"}}},
        transports="http",
    ),
    stateless(
        "describes-headers-below-all-depths",
        "Streamable HTTP, Custom Headers (SEP-2243): only properties that are reachable from the "
        "root; this library looks 64 levels deep.",
        {"tools/list": (Reply(result={"tools": _BOTTOMS}),)},
        LIST_TOOLS,
        *[
            {"do": "call_tool", "name": f"by-properties-{depth}", "arguments": _nested(depth)}
            for depth in (64, 65)
        ],
        transports="http",
    ),
    reaction(
        "ends-in-a-coding",
        "RFC 9110, 8.4: a body that ends within its coding is not whole.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        200,
                        {**_JSON, "Content-Encoding": "gzip"},
                        body=gzip.compress(_DONE % 2, mtime=0)[:-9],
                    ),
                    Reply(200, {**_JSON, "Content-Encoding": "deflate"}, body=b"\x78"),
                    plain(307, "moved for now", Location="/mcp?b"),
                    plain(200),
                    _LONG_REFUSAL,
                    USUAL,
                )
            }
        ),
        *[HELLO] * 5,
        PING,
    ),
    reaction(
        "answers-until-it-closes",
        "RFC 9112, 6.3: without a length, the body ends with the connection.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        0,
                        body=b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
                        + _DONE % 2,
                        cut=True,
                    ),
                    USUAL,
                )
            }
        ),
        *[HELLO] * 2,
    ),
    *(
        reaction(
            f"asks-a-user-who-answers-{name}",
            "Elicitation: content is an object; -32603 where the client's own function fails.",
            Plan(
                {
                    "tools/call": (
                        stream(
                            asked(1, "elicitation/create", **WHO["params"]), Await("answer"), ANSWER
                        ),
                        USUAL,
                    )
                }
            ),
            HELLO,
            PING,
            client={**USER, "elicitation": [answer]},
            transports="stdio",
        )
        for name, answer in {
            "with-a-list": {"action": "accept", "content": [1]},
            "with-an-empty-list": {"action": "accept", "content": []},
            "with-nothing-in-it": {"action": "accept", "content": {}},
            "without-content": {"action": "accept"},
        }.items()
    ),
)

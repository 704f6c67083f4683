"""Scripts for the stateless era, and for finding out which era a server speaks."""

from __future__ import annotations

from dataclasses import replace

from conformance.capture.collection.parts import (
    EVERYTHING_DECLARED,
    FOLDER,
    MODEL_ANSWER,
    call,
)
from conformance.capture.collection.reference_servers import NOON, SDK_TOUR
from conformance.scripts import CLIENT2, STATELESS, Script

ADA = {"action": "accept", "content": {"name": "Ada", "age": 36}}
ANSWERS = {
    "capabilities": EVERYTHING_DECLARED,
    "elicitation": [ADA],
    "sampling": [MODEL_ANSWER],
    "roots": [FOLDER],
}

STATES = ("ask_without_state", "ask_with_empty_state", "wait")
HELLO = call("echo", text="hello")

OWN_TOUR = (
    {"do": "list_tools"},
    {"do": "list_resources"},
    {"do": "list_resource_templates"},
    {"do": "list_prompts"},
    call("echo", text="Grüße, 世界, 👋"),
    call("add", a=1, b=2),
    call("numbers"),
    call("mismatch"),
    call("count", steps=2, progress=True),
    {"do": "read_resource", "uri": "test://texts/one"},
    {"do": "get_prompt", "name": "letter", "arguments": {"to": "Zoë"}},
    {
        "do": "complete",
        "ref": {"type": "ref/prompt", "name": "letter"},
        "argument": "to",
        "value": "f",
    },
)

OWN = (
    Script("tour", "sdk2", OWN_TOUR),
    Script("tour", "sdk2-sse", OWN_TOUR, transports=("http",)),
    Script(
        "errors",
        "sdk2",
        (
            call("fail"),
            call("refuse"),
            call("crash"),
            call("no_such_tool"),
            {"do": "read_resource", "uri": "test://nowhere"},
            {"do": "get_prompt", "name": "no_such_prompt"},
        ),
    ),
    Script(
        "cancel",
        "sdk2",
        (
            {"do": "cancel_call", "name": "hang", "arguments": {}, "after": "progress"},
            {"do": "call_tool", "name": "hang", "arguments": {}, "timeout": 0.2},
            call("echo", text="still there"),
        ),
    ),
    Script(
        "together",
        "sdk2",
        (
            {
                "do": "together",
                "steps": (
                    call("count", steps=2, progress=True),
                    call("echo", text="in between"),
                    call("fail"),
                ),
            },
        ),
        ("http",),
    ),
    Script(
        "logging",
        "sdk2",
        (
            call("log"),
            {"do": "set_log_level", "level": "warning"},
            call("log"),
            {"do": "set_log_level", "level": "debug"},
            call("log"),
        ),
    ),
    Script(
        "headers",
        "sdk2",
        (
            {"do": "list_tools"},
            call("query", sql="select", region="eu", limit=10, dry=True, place={"city": "Gent"}),
            call("query", sql="select", region=" padded ", limit=-1, dry=False),
            call("query", sql="select", region="Zürich", place={}),
            call("query", sql="select"),
        ),
    ),
    Script(
        "asks",
        "sdk2",
        (
            call("ask_user"),
            call("ask_user_to_visit"),
            call("ask_model"),
            call("list_roots"),
            call("ask_for_everything"),
            call("ask_again"),
            {"do": "get_prompt", "name": "asking"},
        ),
        client=ANSWERS,
    ),
    Script(
        "declines",
        "sdk2",
        (call("ask_user"), call("ask_user")),
        ("http",),
        client={**ANSWERS, "elicitation": [{"action": "decline"}, {"action": "cancel"}]},
    ),
    Script("undeclared", "sdk2", (call("ask_user"), call("ask_model"))),
    Script("rounds", "sdk2-insatiable", (call("ask_forever"), HELLO), client=ANSWERS),
    Script("states", "sdk2-insatiable", tuple(map(call, STATES)), client=ANSWERS),
    Script("metadata", "sdk2", ({**HELLO, "meta": {"example.com/trace": [1, {}]}},)),
    Script(
        "odd-headers",
        "sdk2",
        (
            {"do": "list_tools"},
            call("query", sql="select", region="=?base64?Zm9v?="),
            call("query", sql="select", region="", limit=0),
            call("query", sql="select", region="a\tb"),
        ),
        ("http",),
    ),
    Script(
        "lists",
        "sdk2-stale",
        ({"do": "list_tools"}, {"do": "pause", "seconds": 0.5}, {"do": "list_tools"}),
        ("http",),
    ),
    Script(
        "calls",
        "sdk2-crowded",
        (call("echo", text="at last"), HELLO),
        ("http",),
        client={"retry_busy": True},
    ),
    Script(
        "one-sided",
        "sdk2-extended",
        ({"do": "list_tools"}, HELLO),
        client={"capabilities": {"extensions": {"com.example/ours": {}}}},
    ),
    Script(
        "listen",
        "sdk2",
        (
            {
                "do": "listen",
                "tools": True,
                "prompts": True,
                "resources": True,
                "uris": ["test://texts/one"],
                "steps": (
                    call("touch", uris=["test://texts/one", "test://texts/two"]),
                    call("change"),
                ),
                "until": {"method": "notifications/resources/list_changed", "count": 1},
            },
            call("echo", text="not listening any more"),
        ),
    ),
    Script(
        "lists",
        "sdk2-cached",
        (
            {"do": "list_tools"},
            {"do": "list_tools"},
            {"do": "list_resources"},
            {"do": "list_resources"},
            {"do": "list_prompts"},
            {"do": "list_prompts"},
            {"do": "read_resource", "uri": "test://texts/one"},
            {"do": "read_resource", "uri": "test://texts/one"},
            {"do": "read_resource", "uri": "test://texts/two"},
        ),
        transports=("http",),
    ),
    Script(
        "changed-while-fresh",
        "sdk2-cached",
        (
            {"do": "list_resources"},
            {
                "do": "listen",
                "resources": True,
                "steps": (call("change"),),
                "until": {"method": "notifications/resources/list_changed", "count": 1},
            },
            {"do": "list_resources"},
            {"do": "list_resources"},
        ),
        transports=("http",),
    ),
)

# The SDK 2.x of Python; a ping is not of this era.
OTHERS = (
    Script("tour", "mcp2", SDK_TOUR[1:]),
    Script("tour", "fastmcp", SDK_TOUR[1:], transports=("http",)),
    Script(
        "noon", "time", ({"do": "list_tools"}, call("convert_time", **NOON)), transports=("stdio",)
    ),
)

AFTER_ALL = (call("echo", text="after all"),)
FALLBACKS = (
    Script("fallback", "sdk1", AFTER_ALL, driver=CLIENT2),
    Script("fallback", "mcp1", AFTER_ALL, driver=CLIENT2),
    Script("fallback", "sdk2-older", AFTER_ALL, ("http",), driver=CLIENT2),
)

SCRIPTS = (
    *(replace(script, revision=STATELESS, driver=CLIENT2) for script in (*OWN, *OTHERS)),
    *FALLBACKS,
)

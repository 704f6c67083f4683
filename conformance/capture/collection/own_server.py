"""Scripts for our own server on the SDK 1.x, for cases that the reference servers do not show."""

from __future__ import annotations

from conformance.capture.collection.parts import (
    ANSWERED_FORM,
    EVERYTHING_DECLARED,
    FOLDER,
    MODEL_ANSWER,
    MODEL_USES_TOOL,
    OTHER_FOLDER,
    REFUSED,
    call,
    wait,
)
from conformance.scripts import Script

# The connection has survived what came before.
STILL_THERE = call("echo", text="still there")

# The server's own stream is closed; its later messages come over the next one.
STREAM_CLOSED = (
    call("change"),
    wait("resources/list_changed", 1),
    call("close_other_stream"),
    wait("resources/list_changed", 2),
    STILL_THERE,
)
SHORT_TOUR = ({"do": "ping"}, call("echo", text="once"), call("fail"), STILL_THERE)
WITHDRAWN = (call("withdraw"), STILL_THERE)

OFFERS = (
    Script(
        "pages",
        "sdk1",
        transports=("http",),
        steps=(
            {"do": "list_tools"},
            {"do": "list_resources"},
            {"do": "list_resource_templates"},
            {"do": "list_prompts"},
        ),
    ),
    Script(
        "contents",
        "sdk1",
        transports=("stdio",),
        steps=(
            {"do": "list_tools"},
            call("echo", text="Grüße, 世界, 👋, \u2028, \x00, \\"),
            call("add", a=2**53 - 1, b=0.5),
            call("contents"),
            {"do": "read_resource", "uri": "test://texts/one%20two"},
            {"do": "read_resource", "uri": "test://pixel"},
            {"do": "read_resource", "uri": "test://both"},
            {"do": "get_prompt", "name": "plain"},
            {"do": "get_prompt", "name": "letter", "arguments": {"to": "Zoë", "tone": "warm"}},
            {"do": "get_prompt", "name": "picture"},
            {"do": "get_prompt", "name": "empty"},
            {
                "do": "complete",
                "ref": {"type": "ref/prompt", "name": "letter"},
                "argument": "tone",
                "value": "f",
            },
            {
                "do": "complete",
                "ref": {"type": "ref/resource", "uri": "test://texts/{name}"},
                "argument": "name",
                "value": "",
                "context": {"to": "Zoë"},
            },
        ),
    ),
    Script(
        "errors",
        "sdk1",
        transports=("stdio", "http", "ws"),
        steps=(
            call("fail"),
            call("refuse"),
            call("crash"),
            call("no_such_tool"),
            call("demand_visit"),
            {"do": "read_resource", "uri": "test://nowhere"},
            {"do": "get_prompt", "name": "no_such_prompt"},
            STILL_THERE,
        ),
    ),
    Script(
        "outputs",
        "sdk1",
        transports=("stdio",),
        steps=({"do": "list_tools"}, call("add", a=1, b=2), call("mismatch"), call("unstructured")),
    ),
)

CALLS = (
    Script(
        "progress",
        "sdk1",
        transports=("stdio", "http", "sse", "ws"),
        steps=(
            call("count", steps=3, progress=True),
            call("count", steps=3),
            call("count", steps=0, progress=True),
        ),
    ),
    Script(
        "cancel",
        "sdk1",
        transports=("stdio", "http", "sse", "ws"),
        steps=(
            {"do": "cancel_call", "name": "hang", "arguments": {}, "after": "progress"},
            STILL_THERE,
        ),
    ),
    Script(
        "timeout",
        "sdk1",
        steps=(
            {"do": "call_tool", "name": "hang", "arguments": {}, "timeout": 0.2},
            STILL_THERE,
        ),
    ),
    Script(
        "patience",
        "sdk1",
        transports=("stdio", "http"),
        steps=({**call("tick", seconds=3, progress=True), "timeout": 2.5},),
    ),
    Script("metadata", "sdk1", steps=({**STILL_THERE, "meta": {"example.com/trace": [1, {}]}},)),
    Script(
        "no-more-patience",
        "sdk1",
        transports=("stdio",),
        steps=({**call("tick", seconds=3, progress=True), "timeout": 2.5, "total": 1.9},),
    ),
    Script(
        "together",
        "sdk1",
        steps=(
            {
                "do": "together",
                "steps": (
                    call("count", steps=2, progress=True),
                    call("echo", text="in between"),
                    {"do": "read_resource", "uri": "test://texts/one"},
                    call("fail"),
                    {"do": "ping"},
                ),
            },
        ),
    ),
    Script(
        "logging",
        "sdk1",
        transports=("stdio", "http"),
        steps=(
            {"do": "set_log_level", "level": "warning"},
            call("log"),
            wait("message", 3),
            {"do": "set_log_level", "level": "debug"},
            call("log"),
            wait("message", 9),
        ),
    ),
    Script("pings", "sdk1", steps=(call("ping_client"), {"do": "ping"}, call("ping_socket"))),
    Script("ping-frame", "sdk1", transports=("ws",), steps=(call("ping_socket"), {"do": "ping"})),
    Script(
        "dropped",
        "sdk1",
        transports=("ws",),
        steps=(call("drop_socket"), call("echo", text="nobody hears it")),
    ),
)

REQUESTS = (
    Script(
        "sampling",
        "sdk1",
        transports=("stdio", "http", "ws"),
        steps=(call("ask_model"), call("ask_model_with_tools"), call("ask_model")),
        client={
            "capabilities": EVERYTHING_DECLARED,
            "sampling": [MODEL_ANSWER, MODEL_USES_TOOL, MODEL_ANSWER, REFUSED],
        },
    ),
    Script(
        "elicitation",
        "sdk1",
        transports=("stdio", "http", "ws"),
        steps=(
            call("ask_user"),
            call("ask_user"),
            call("ask_user"),
            call("ask_user_to_visit"),
            wait("elicitation/complete"),
        ),
        client={
            "capabilities": EVERYTHING_DECLARED,
            "elicitation": [
                ANSWERED_FORM,
                {"action": "decline"},
                {"action": "cancel"},
                {"action": "accept"},
            ],
        },
    ),
    Script(
        "roots",
        "sdk1",
        steps=(
            call("list_roots"),
            {"do": "set_roots", "roots": [FOLDER, OTHER_FOLDER]},
            call("list_roots"),
        ),
        client={"capabilities": EVERYTHING_DECLARED, "roots": [FOLDER]},
    ),
    Script(
        "undeclared",
        "sdk1",
        transports=("http",),
        steps=(
            call("ask_user"),
            call("ask_model"),
            call("list_roots"),
            call("ask_for_the_unknown"),
        ),
    ),
    Script(
        "half-declared",
        "sdk1",
        steps=(call("ask_model"), call("ask_model_with_tools"), call("ask_user_to_visit")),
        client={
            "capabilities": {"sampling": {}, "elicitation": {"form": {}}},
            "sampling": [MODEL_ANSWER],
            "elicitation": [{"action": "accept"}],
        },
    ),
    Script(
        "withdrawn",
        "sdk1",
        steps=WITHDRAWN,
        client={"capabilities": EVERYTHING_DECLARED, "elicitation": [{"never": True}]},
    ),
    Script(
        "withdrawn-late",
        "sdk1",
        steps=WITHDRAWN,
        client={
            "capabilities": EVERYTHING_DECLARED,
            "elicitation": [{"late": {"action": "cancel"}}],
        },
    ),
    Script(
        "cancel-while-asked",
        "sdk1",
        steps=(
            {"do": "cancel_call", "name": "ask_user", "arguments": {}, "after": "request"},
            STILL_THERE,
        ),
        client={"capabilities": EVERYTHING_DECLARED, "elicitation": [{"never": True}]},
    ),
)

CHANGES = (
    Script(
        "subscriptions",
        "sdk1",
        transports=("stdio", "http", "ws"),
        steps=(
            {"do": "subscribe", "uri": "test://texts/one"},
            {"do": "subscribe", "uri": "test://texts/two"},
            call("touch", uris=["test://texts/one", "test://texts/two", "test://texts/three"]),
            wait("resources/updated", 2),
            {"do": "unsubscribe", "uri": "test://texts/one"},
            call("touch", uris=["test://texts/one", "test://texts/two"]),
            wait("resources/updated", 3),
        ),
    ),
    Script(
        "changes",
        "sdk1",
        transports=("stdio", "http", "sse", "ws"),
        steps=(
            call("change"),
            wait("tools/list_changed"),
            wait("prompts/list_changed"),
            wait("resources/list_changed"),
            call("added"),
        ),
    ),
)

TASKS = (
    Script(
        "tasks",
        "sdk1",
        steps=(
            {"do": "call_tool_task", "name": "report", "arguments": {}, "ttl": 60000},
            {"do": "get_task", "task": 0},
            {"do": "await_task", "task": 0},
            {"do": "task_result", "task": 0},
            {"do": "call_tool_task", "name": "report", "arguments": {"fail": True}},
            {"do": "await_task", "task": 1},
            {"do": "task_result", "task": 1},
            {"do": "call_tool_task", "name": "report", "arguments": {"wait": True}},
            {"do": "cancel_task", "task": 2},
            {"do": "get_task", "task": 2},
            {"do": "cancel_task", "task": 2},
            {"do": "list_tasks"},
            call("report"),
        ),
    ),
    Script(
        "task-asks",
        "sdk1",
        steps=(
            {"do": "call_tool_task", "name": "report", "arguments": {"ask": True}},
            {"do": "await_task", "task": 0},
            {"do": "task_result", "task": 0},
            {"do": "get_task", "task": 0},
        ),
        client={
            "capabilities": EVERYTHING_DECLARED,
            "elicitation": [{"action": "accept", "content": {"n": 2}}],
        },
    ),
)

HTTP = (
    Script(
        "tour",
        "sdk1-json",
        transports=("http",),
        steps=(
            {"do": "ping"},
            call("echo", text="in JSON"),
            call("count", steps=2, progress=True),
            call("refuse"),
            {"do": "read_resource", "uri": "test://texts/one"},
            call("change"),
            wait("resources/list_changed"),
            {"do": "terminate_session"},
        ),
    ),
    Script(
        "tour",
        "sdk1-stateless",
        transports=("http",),
        steps=(
            {"do": "ping"},
            call("count", steps=2, progress=True),
            call("fail"),
            {"do": "terminate_session"},
        ),
    ),
    Script("tour", "sdk1-closing", transports=("http",), steps=SHORT_TOUR),
    Script("tour", "sdk1-cookies", transports=("http",), steps=SHORT_TOUR),
    Script("tour", "sdk1-crumbs", transports=("http",), steps=SHORT_TOUR),
    Script("tour", "sdk1-chatty", transports=("http", "sse"), steps=SHORT_TOUR),
    Script("lists", "sdk1-busy", transports=("http",), steps=({"do": "list_tools"}, STILL_THERE)),
    Script(
        "calls",
        "sdk1-crowded",
        transports=("http",),
        steps=(call("echo", text="at last"), STILL_THERE),
        client={"retry_busy": True},
    ),
    Script("tour", "sdk1-odd-case", transports=("http",), steps=SHORT_TOUR),
    *(
        Script(
            "echo",
            f"sdk1-refused-{status}",
            transports=("sse",),
            steps=(STILL_THERE,),
            client={"either": True},
        )
        for status in (400, 404, 405)
    ),
    Script(
        "headers",
        "sdk1",
        transports=("http",),
        steps=(*SHORT_TOUR, {"do": "terminate_session"}),
        # A header that may be a secret is recorded under a name: this one, so that it is the same.
        client={"headers": {"Cache-Control": "no-store", "X-Team": "redacted-1"}},
    ),
    Script(
        "terminated",
        "sdk1",
        transports=("http",),
        steps=(call("echo", text="once"), {"do": "terminate_session"}),
    ),
    Script(
        "session-lost",
        "sdk1",
        transports=("http",),
        steps=(call("forget_session"), call("echo", text="to nobody"), {"do": "ping"}),
    ),
    Script(
        "resumed",
        "sdk1-resumable",
        transports=("http",),
        steps=(
            call("close_my_stream"),
            call("count", steps=2, progress=True),
            call("close_my_stream"),
        ),
    ),
    Script(
        "own-stream-resumed",
        "sdk1-resumable",
        transports=("http",),
        steps=STREAM_CLOSED,
    ),
)

OF_SERVERS_THAT_MISBEHAVE = (
    Script(
        "resumed",
        "sdk1-repeating",
        transports=("http",),
        steps=STREAM_CLOSED,
    ),
    Script("lists", "sdk1-forgetful", steps=({"do": "list_tools"}, STILL_THERE)),
    Script("hello", "sdk1-silent", steps=(), client={"connect_timeout": 0.3}),
    Script("hello", "sdk1-elsewhere", transports=("sse",), steps=()),
)

REVISIONS = tuple(
    Script(
        "tour",
        f"sdk1-{revision}",
        transports=("stdio", "http"),
        revision=revision,
        steps=(
            {"do": "ping"},
            call("echo", text="as it was then"),
            call("add", a=1, b=2),
            call("count", steps=2, progress=True),
            call("fail"),
            {"do": "read_resource", "uri": "test://texts/one"},
            {"do": "get_prompt", "name": "plain"},
        ),
    )
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18")
)

UNKNOWN_REVISION = Script(
    "refused", "sdk1-2031-01-01", transports=("stdio", "http"), steps=(), revision="2031-01-01"
)

SCRIPTS = (
    *OFFERS,
    *CALLS,
    *REQUESTS,
    *CHANGES,
    *TASKS,
    *HTTP,
    *OF_SERVERS_THAT_MISBEHAVE,
    *REVISIONS,
    UNKNOWN_REVISION,
)

"""Scripts for the reference servers and for the servers of other SDKs, in the handshake era."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.parts import (
    EVERYTHING_DECLARED,
    FOLDER,
    MODEL_ANSWER,
    OTHER_FOLDER,
    call,
    wait,
)
from conformance.capture.targets import PROJECT
from conformance.scripts import Script

COMPLETABLE = {"type": "ref/prompt", "name": "completable-prompt"}

EVERYTHING = (
    Script(
        "tour",
        "everything",
        transports=("stdio", "http", "sse"),
        steps=(
            {"do": "ping"},
            {"do": "list_tools"},
            {"do": "list_resources"},
            {"do": "list_resource_templates"},
            {"do": "list_prompts"},
            call("echo", message="Grüße, 世界, 👋"),
            call("get-sum", a=1.5, b=2),
            call("get-sum", a="one"),
            call("no-such-tool"),
            call("get-structured-content", location="Chicago"),
            call("get-annotated-message", messageType="debug", includeImage=False),
            call("get-resource-links", count=2),
            {"do": "read_resource", "uri": "demo://resource/dynamic/text/1"},
            {"do": "read_resource", "uri": "demo://no-such-resource"},
            {"do": "get_prompt", "name": "simple-prompt"},
            {"do": "get_prompt", "name": "args-prompt", "arguments": {"city": "Ghent"}},
            {"do": "get_prompt", "name": "no-such-prompt"},
            {"do": "complete", "ref": COMPLETABLE, "argument": "department", "value": "S"},
            {
                "do": "complete",
                "ref": COMPLETABLE,
                "argument": "name",
                "value": "",
                "context": {"department": "Sales"},
            },
        ),
    ),
    Script(
        "long-operation",
        "everything",
        transports=("http",),
        steps=(
            call("trigger-long-running-operation", progress=True, duration=0.2, steps=4),
            call("trigger-long-running-operation", duration=0.1, steps=2),
        ),
    ),
    Script(
        "asks",
        "everything",
        transports=("stdio", "http", "sse"),
        steps=(
            wait("message"),
            {"do": "set_roots", "roots": [FOLDER, OTHER_FOLDER]},
            wait("message", 2),
            call("get-roots-list"),
            call("trigger-sampling-request", prompt="What is the weather?", maxTokens=50),
            call("trigger-elicitation-request"),
            call("trigger-elicitation-request"),
            call("trigger-url-elicitation", url="https://example.com/", elicitationId="a-visit"),
            call("trigger-url-elicitation", url="https://example.com/", errorPath=True),
        ),
        client={
            "capabilities": EVERYTHING_DECLARED,
            "roots": [FOLDER],
            "sampling": [MODEL_ANSWER],
            "elicitation": [
                {"action": "accept", "content": {"name": "Ada"}},
                {"action": "decline"},
                {"action": "accept"},
            ],
        },
    ),
    Script(
        "subscriptions",
        "everything",
        transports=("http",),
        steps=(
            {"do": "subscribe", "uri": "demo://resource/dynamic/text/1"},
            call("toggle-subscriber-updates"),
            wait("resources/updated"),
            {"do": "unsubscribe", "uri": "demo://resource/dynamic/text/1"},
            call("toggle-subscriber-updates"),
        ),
    ),
    Script(
        "task",
        "everything",
        transports=("http",),
        steps=(
            {
                "do": "call_tool_task",
                "name": "simulate-research-query",
                "arguments": {"topic": "python", "ambiguous": True},
            },
            {"do": "await_task", "task": 0},
            {"do": "task_result", "task": 0},
            {"do": "list_tasks"},
        ),
        client={
            "capabilities": EVERYTHING_DECLARED,
            "elicitation": [{"action": "accept", "content": {"interpretation": "snake"}}],
        },
    ),
)

FILES = f"{PROJECT}/files"
REPOSITORY = f"{PROJECT}/repository"
CAT: dict[str, Any] = {"name": "cat", "entityType": "animal", "observations": ["purrs", "schläft"]}
NOON: dict[str, Any] = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}

SMALL_ONES = (
    Script(
        "files",
        "filesystem",
        transports=("stdio",),
        steps=(
            {"do": "list_tools"},
            call("list_directory", path=FILES),
            call("read_text_file", path=f"{FILES}/text.txt"),
            call("read_text_file", path=f"{FILES}/missing.txt"),
            call("read_text_file", path=PROJECT),
            call("list_allowed_directories"),
        ),
    ),
    Script(
        "roots",
        "filesystem",
        transports=("stdio",),
        steps=(
            call("list_allowed_directories"),
            {"do": "set_roots", "roots": [{"uri": f"file://{FILES}"}]},
            call("list_directory", path=FILES),
        ),
        client={
            "capabilities": EVERYTHING_DECLARED,
            "roots": [{"uri": f"file://{FILES}", "name": "files"}],
        },
    ),
    Script(
        "graph",
        "memory",
        transports=("stdio",),
        steps=(
            {"do": "list_tools"},
            call("create_entities", entities=[CAT]),
            call("search_nodes", query="purrs"),
            call("delete_entities", entityNames=["cat"]),
            call("read_graph"),
        ),
    ),
    Script(
        "thought",
        "sequential-thinking",
        transports=("stdio",),
        steps=(
            {"do": "list_tools"},
            call(
                "sequentialthinking",
                thought="one",
                nextThoughtNeeded=False,
                thoughtNumber=1,
                totalThoughts=1,
            ),
        ),
    ),
    *(
        Script(
            "noon",
            server,
            transports=("stdio",),
            revision=revision,
            steps=(
                {"do": "list_tools"},
                call("convert_time", **NOON),
                call("convert_time", **{**NOON, "time": "noon"}),
            ),
        )
        for server, revision in (
            ("time", "2025-11-25"),
            ("time-mcp-1.8", "2024-11-05"),
            ("time-mcp-1.9", "2025-03-26"),
        )
    ),
    Script(
        "log",
        "git",
        transports=("stdio",),
        steps=(
            {"do": "list_tools"},
            call("git_status", repo_path=REPOSITORY),
            call("git_log", repo_path=REPOSITORY),
            call("git_show", repo_path=REPOSITORY, revision="HEAD"),
            call("git_show", repo_path=REPOSITORY, revision="nowhere"),
        ),
    ),
    Script(
        "page",
        "fetch",
        transports=("stdio",),
        steps=(
            {"do": "list_tools"},
            {"do": "list_prompts"},
            call("fetch", url="http://127.0.0.1:50001/"),
            call("fetch", url="http://127.0.0.1:50001/missing"),
            {"do": "get_prompt", "name": "fetch", "arguments": {"url": "http://127.0.0.1:50001/"}},
        ),
    ),
)

SDK_TOUR = (
    {"do": "ping"},
    {"do": "list_tools"},
    {"do": "list_resources"},
    {"do": "list_resource_templates"},
    {"do": "list_prompts"},
    call("echo", text="Grüße, 世界, 👋, \u2028"),
    call("add", a=2**53 - 1, b=1),
    call("add", a="one", b=2),
    call("fail", reason="because"),
    call("picture"),
    call("count", steps=3, progress=True),
    call("no_such_tool"),
    {"do": "read_resource", "uri": "conformance://greeting"},
    {"do": "read_resource", "uri": "conformance://octets"},
    {"do": "read_resource", "uri": "conformance://items/one%20two"},
    {"do": "read_resource", "uri": "conformance://no-such-resource"},
    {"do": "get_prompt", "name": "greet", "arguments": {"name": "Zoë"}},
    {"do": "get_prompt", "name": "no-such-prompt"},
)

SDKS = (
    Script("tour", "mcp1", transports=("stdio", "http", "sse"), steps=SDK_TOUR),
    Script("tour", "mcp1-stateless", transports=("http",), steps=SDK_TOUR),
    Script("tour", "mcp1-moved", transports=("http",), steps=SDK_TOUR[:8]),
    Script("tour", "mcp1-json", transports=("http",), steps=SDK_TOUR),
    Script("tour", "mcp2", transports=("stdio", "http"), steps=SDK_TOUR),
    Script("tour", "fastmcp", transports=("http",), steps=SDK_TOUR),
    Script(
        "echo",
        "mcp1",
        transports=("ws",),
        steps=({"do": "list_tools"}, call("echo", message="Grüße, 世界, 👋"), {"do": "ping"}),
    ),
)

# Rust, Go and C#: none of them shares code with the SDKs above.
OTHERS = (
    Script(
        "projects",
        "moon",
        transports=("stdio",),
        steps=(
            {"do": "ping"},
            {"do": "list_tools"},
            call("get_projects"),
            call("get_project", id="web"),
            call("get_project", id="nowhere"),
            call("no_such_tool"),
            {"do": "list_prompts"},
        ),
    ),
    Script(
        "queries",
        "toolbox",
        steps=(
            {"do": "ping"},
            {"do": "list_tools"},
            call("execute_sql", sql="select 1 as one, 'Grüße' as text"),
            call("execute_sql", sql="select"),
            call("execute_sql"),
            call("no_such_tool"),
            {"do": "list_prompts"},
        ),
    ),
    Script(
        "examples",
        "grafana",
        transports=("stdio", "http", "sse"),
        steps=(
            {"do": "ping"},
            {"do": "list_tools"},
            call("get_query_examples", datasourceType="loki"),
            call("get_query_examples", datasourceType="none"),
            call("search_folders"),
            call("no_such_tool"),
            {"do": "list_prompts"},
        ),
    ),
    Script(
        "learn",
        "azure",
        transports=("stdio",),
        steps=(
            {"do": "ping"},
            {"do": "list_tools"},
            call("azure", intent="list what there is", tool="subscription", learn=True),
            call("azure"),
            call("no_such_tool"),
        ),
    ),
)

SCRIPTS = (*EVERYTHING, *SMALL_ONES, *SDKS, *OTHERS)

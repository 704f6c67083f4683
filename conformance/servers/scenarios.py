"""A server on the Python SDK 2.x for the official suite's scenarios of servers, in both eras.

Each scenario says in its description what it wants of a server. Most of that is data here: the
content of results by the name of a tool or a prompt, and the questions of each round of input.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import TypeAdapter

from conformance.servers import features

NAME = "scenarios"
STEP = 0.05
FIRST_STATELESS = "2026-07-28"
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def resource(uri: str, content: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": content}}


def form(message: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def completion(prompt: str) -> dict[str, Any]:
    said = [{"role": "user", "content": text(prompt)}]
    return {"method": "sampling/createMessage", "params": {"messages": said, "maxTokens": 100}}


def choices(*names: str) -> list[dict[str, str]]:
    return [{"const": name, "title": name.title()} for name in names]


ROOTS = {"method": "roots/list", "params": {}}
WHO = form("What is your name?", name={"type": "string"})
SURE = form("Please confirm", ok={"type": "boolean"})
IMAGE = {"type": "image", "data": features.PIXEL, "mimeType": "image/png"}
SIZES = ["small", "medium", "large"]

CONTENTS: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}],
    "test_embedded_resource": [resource("test://embedded-resource", "An embedded resource.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", '{"test":"data"}', "application/json"),
    ],
}
# Questions of the handshake era, which the server asks while a call runs.
ASKED: dict[str, dict[str, Any]] = {
    "test_elicitation": form("?", response={"type": "string"}),
    "test_elicitation_sep1034_defaults": form(
        "Please check this",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        verified={"type": "boolean", "default": True},
    ),
    "test_elicitation_sep1330_enums": form(
        "Please choose",
        untitledSingle={"type": "string", "enum": SIZES},
        titledSingle={"type": "string", "oneOf": choices(*SIZES)},
        legacyEnum={"type": "string", "enum": SIZES, "enumNames": ["Small", "Medium", "Large"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": SIZES}},
        titledMulti={"type": "array", "items": {"anyOf": choices(*SIZES)}},
    ),
    "test_sampling": completion("?"),
    "test_streaming_elicitation": WHO,
}
# Rounds of the stateless era; those with a state say how far they are.
ROUNDS: dict[str, list[dict[str, Any]]] = {
    "elicitation": [{"user_name": WHO}],
    "sampling": [{"capital_question": completion("What is the capital of France?")}],
    "list_roots": [{"client_roots": ROOTS}],
    "request_state": [{"confirm": SURE}],
    "tampered_state": [{"confirm": SURE}],
    "multiple_inputs": [
        {"user_name": WHO, "greeting": completion("Generate a greeting"), "client_roots": ROOTS}
    ],
    "multi_round": [
        {"step1": WHO},
        {"step2": form("What is your favorite color?", color={"type": "string"})},
    ],
    "capabilities": [{"name": WHO, "capital": completion("What is the capital of France?")}],
    "prompt": [{"user_context": form("Which context?", context={"type": "string"})}],
}
WITHOUT_STATE = ("elicitation", "sampling", "list_roots", "prompt")
PREFIX = "test_input_required_result_"
NEEDED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling"}
RESULTS: dict[str, Any] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
PLAIN_TOOLS = (
    *CONTENTS,
    *ASKED,
    *(PREFIX + name for name in ROUNDS if name != "prompt"),
    *("test_tool_with_logging", "test_tool_with_progress", "test_error_handling"),
    *("test_missing_capability", "test_logging_tool"),
    *("test_trigger_tool_change", "test_trigger_prompt_change"),
)
TOOLS: dict[str, dict[str, Any]] = {
    **{name: {"type": "object"} for name in PLAIN_TOOLS},
    "json_schema_2020_12_tool": SCHEMA,
}
PROMPTS: dict[str, list[dict[str, Any]]] = {
    "test_simple_prompt": [text("This is a simple prompt for testing.")],
    "test_prompt_with_arguments": [text("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")],
    "test_prompt_with_embedded_resource": [
        resource("{resourceUri}", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
    ],
    "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
    PREFIX + "prompt": [],
}
ARGUMENTS = {
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
}
RESOURCES = {
    "test://static-text": {"text": "The text of a resource.", "mimeType": "text/plain"},
    "test://static-binary": {"blob": features.PIXEL, "mimeType": "image/png"},
    "test://watched-resource": {"text": "It may change.", "mimeType": "text/plain"},
}
TEMPLATE = "test://template/{id}/data"

BUS = InMemorySubscriptionBus()
CHANGES = {
    "test_trigger_tool_change": ToolsListChanged(),
    "test_trigger_prompt_change": PromptsListChanged(),
}


def complete(*blocks: dict[str, Any], **fields: Any) -> types.CallToolResult:
    return types.CallToolResult.model_validate({"content": [*blocks], **fields})


def declared(ctx: Any) -> Mapping[str, Any]:
    capabilities = ctx.session.client_capabilities
    return capabilities.model_dump(exclude_none=True) if capabilities else {}


def next_round(
    rounds: Sequence[Mapping[str, Any]], name: str, ctx: Any, params: Any
) -> types.InputRequiredResult | None:
    """Return the questions of the next round; None when there are no more."""
    position = int(params.request_state or 0)
    if rounds[position].keys() <= (params.input_responses or {}).keys():
        position += 1
    if position == len(rounds):
        return None
    asked = rounds[position]
    if name == PREFIX + "capabilities":
        asked = {
            key: each for key, each in asked.items() if NEEDED[each["method"]] in declared(ctx)
        }
    state = {} if name.removeprefix(PREFIX) in WITHOUT_STATE else {"requestState": str(position)}
    return types.InputRequiredResult.model_validate({"inputRequests": asked, **state})


async def ask(ctx: Any, question: Mapping[str, Any]) -> str:
    """Ask the client in the way of the handshake era."""
    request = TypeAdapter(types.ServerRequest).validate_python(question)
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    kind = RESULTS[question["method"]]
    answer = await ctx.session.send_request(request, kind, metadata=related)
    return str(answer.model_dump_json(by_alias=True, exclude_none=True))


async def call_asking(
    ctx: Any, params: Any, name: str
) -> types.CallToolResult | types.InputRequiredResult:
    """Ask a tool's questions, in the way of the client's era."""
    if name in ASKED:
        question = json.loads(json.dumps(ASKED[name]))
        if name == "test_sampling":
            question["params"]["messages"][0]["content"]["text"] = params.arguments["prompt"]
        elif params.arguments:
            question["params"]["message"] = params.arguments["message"]
        rounds = [{"question": question}]
    else:
        rounds = ROUNDS[name.removeprefix(PREFIX)]
    if ctx.protocol_version < FIRST_STATELESS:
        answers = [await ask(ctx, each) for asked in rounds for each in asked.values()]
        return complete(text(f"The client answered: {', '.join(answers)}"))
    asked = next_round(rounds, name, ctx, params)
    return asked or complete(text(f"state-ok: {params.input_responses}"))


async def call_tool(ctx: Any, params: Any) -> types.CallToolResult | types.InputRequiredResult:
    name = params.name
    if name in CONTENTS:
        return complete(*CONTENTS[name])
    if name in ASKED or name.startswith(PREFIX):
        return await call_asking(ctx, params, name)
    if name in CHANGES:
        await BUS.publish(CHANGES[name])
    elif name == "test_error_handling":
        return complete(text("This tool intentionally returns an error"), isError=True)
    elif name == "test_missing_capability" and "sampling" not in declared(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
        raise MCPError(code=code, message="sampling is needed", data=needed)
    elif name in ("test_tool_with_logging", "test_logging_tool"):
        for step in ("started", "processing", "completed"):
            await ctx.session.send_log_message("info", step, related_request_id=ctx.request_id)
            await asyncio.sleep(STEP)
    elif name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await ctx.session.report_progress(progress, 100)
            await asyncio.sleep(STEP)
    elif name not in TOOLS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {name}")
    return complete(text("done"))


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    tools = [
        {"name": name, "description": f"Serves {name}.", "inputSchema": schema}
        for name, schema in TOOLS.items()
    ]
    return types.ListToolsResult.model_validate({"tools": tools})


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    prompts = [
        {
            "name": name,
            "description": f"Serves {name}.",
            "arguments": [{"name": each, "required": True} for each in ARGUMENTS.get(name, ())],
        }
        for name in PROMPTS
    ]
    return types.ListPromptsResult.model_validate({"prompts": prompts})


async def get_prompt(ctx: Any, params: Any) -> types.GetPromptResult | types.InputRequiredResult:
    blocks = PROMPTS.get(params.name)
    if blocks is None:
        raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
    if params.name.startswith(PREFIX):
        asked = next_round(ROUNDS["prompt"], params.name, ctx, params)
        if asked is not None:
            return asked
        blocks = [text("With this context.")]
    filled = json.dumps(blocks)
    for name, value in (params.arguments or {}).items():
        filled = filled.replace(f"{{{name}}}", value)
    messages = [{"role": "user", "content": block} for block in json.loads(filled)]
    return types.GetPromptResult.model_validate({"messages": messages})


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    resources = [
        {"uri": uri, "name": uri.rpartition("/")[2], "mimeType": content["mimeType"]}
        for uri, content in RESOURCES.items()
    ]
    return types.ListResourcesResult.model_validate({"resources": resources})


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    template = {"uriTemplate": TEMPLATE, "name": "data", "mimeType": "application/json"}
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": [template]})


async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
    uri = str(params.uri)
    content = RESOURCES.get(uri)
    if content is None and uri.startswith("test://template/") and uri.endswith("/data"):
        content = {"text": json.dumps({"id": uri.split("/")[3]}), "mimeType": "application/json"}
    if content is None:
        raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **content}]})


async def complete_argument(ctx: Any, params: Any) -> types.CompleteResult:
    found = {"values": ["paris", "park"], "total": 2, "hasMore": False}
    return types.CompleteResult.model_validate({"completion": found})


async def accept(ctx: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def make() -> Server[Any]:
    """Return the server."""
    server: Server[Any] = Server(
        NAME,
        version="1.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_set_logging_level=accept,
        on_completion=complete_argument,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
    server.middleware.append(boundary)
    return server


async def serve_stdio() -> None:
    server = make()
    changes = NotificationOptions(prompts_changed=True, tools_changed=True)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options(changes))


def main() -> None:
    if features.asked_transport() == "stdio":
        asyncio.run(serve_stdio())
        return
    import uvicorn

    app = make().streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=features.asked_port(), log_level="error")


if __name__ == "__main__":
    main()

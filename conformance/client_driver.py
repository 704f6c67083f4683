"""The program that the official suite starts for each client scenario.

``python -m conformance.client_driver URL``, with the scenario's name in the variable
MCP_CONFORMANCE_SCENARIO and, for some, what it needs to know as JSON in MCP_CONFORMANCE_CONTEXT.
It prints the revision that it has spoken with the server, if it got that far.
Each scenario is a coroutine that does what a user of the library would do, and exits promptly.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import mcpclient
from conformance import traces
from conformance.auth_scenarios import AUTH_SCENARIOS
from conformance.situation import Scenario, Situation


async def list_tools(at: Situation) -> None:
    async with at.connected() as client:
        await client.list_tools()


async def add_numbers(at: Situation) -> None:
    async with at.connected() as client:
        await client.list_tools()
        await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def call_every_tool(at: Situation) -> None:
    """Call whatever is offered, with arguments that fit its schema."""
    async with at.connected() as client:
        for tool in await client.list_tools():
            await client.call_tool(tool.name, sample_arguments(tool.input_schema))


async def accept_defaults(at: Situation) -> None:
    """Let a tool ask, and accept the form with its defaults."""
    async with at.connected(elicitation=mcpclient.accept_defaults) as client:
        for tool in await client.list_tools():
            await client.call_tool(tool.name, {})


async def declare_capabilities(at: Situation) -> None:
    """Call with every capability that a handler can declare."""
    async with at.connected(
        elicitation=mcpclient.accept_defaults, sampling=refuse, roots=[]
    ) as client:
        for tool in await client.list_tools():
            await client.call_tool(tool.name, sample_arguments(tool.input_schema))


async def answer_input_requests(at: Situation) -> None:
    """Answer what results ask for; one call asks for nothing and carries nothing over."""
    async with at.connected(elicitation=confirm) as client:
        for tool in await client.list_tools():
            await client.call_tool(tool.name, {})


async def use_everything(at: Situation) -> None:
    """Call every tool, read every resource and get every prompt there is."""
    async with at.connected() as client:
        for tool in await client.list_tools():
            await client.call_tool(tool.name, sample_arguments(tool.input_schema))
        for resource in await client.list_resources():
            await client.read_resource(resource.uri)
        for prompt in await client.list_prompts():
            await client.get_prompt(prompt.name)


async def call_as_told(at: Situation) -> None:
    """Make the calls of the context, with their arguments as they are."""
    async with at.connected() as client:
        await client.list_tools()
        for call in at.context["toolCalls"]:
            await client.call_tool(call["name"], call["arguments"])


async def echo_schema(at: Situation) -> None:
    """Send back the input schema of a tool as it was received."""
    async with at.connected() as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        schema = tools["json_schema_2020_12_tool"].input_schema
        await client.call_tool("json_schema_echo", {"schema": schema})


async def list_skills(at: Situation) -> None:
    """List the skills, and read none of them."""
    async with at.connected() as client:
        await client.list_skills()


async def read_skills(at: Situation) -> None:
    """Load every skill with all of its files; one that is not what its entry says fails."""
    async with at.connected() as client:
        for skill in await client.list_skills():
            await client.read_skill(skill)
            for file in skill.files:
                await client.read_skill_file(skill, file.uri)


SCENARIOS: dict[str, Scenario] = {
    **AUTH_SCENARIOS,
    "initialize": list_tools,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": accept_defaults,
    "sse-retry": call_every_tool,
    "request-metadata": declare_capabilities,
    "sep-2322-client-request-state": answer_input_requests,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_every_tool,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2640-client-no-prefetch": list_skills,
    "sep-2640-client-verify-digest": read_skills,
    "sep-2640-client-verify-size": read_skills,
    "sep-2640-client-verify-frontmatter": read_skills,
}


def confirm(request: mcpclient.ElicitationRequest) -> dict[str, Any]:
    """Accept a form that asks for a confirmation."""
    return {"confirmed": True}


def refuse(request: mcpclient.SamplingRequest) -> None:
    """Reject sampling: no scenario asks for it."""


SAMPLES = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


def sample_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for every property of a tool's input schema."""
    properties = schema.get("properties", {})
    return {name: SAMPLES.get(field.get("type")) for name, field in properties.items()}


def main() -> None:
    """Run the scenario that the environment names, against the URL that comes last."""
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    if name not in SCENARIOS:
        sys.exit(f"there is no such scenario: {name}")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    situation = Situation(sys.argv[-1], context, trace=traces.new("official"))
    try:
        asyncio.run(SCENARIOS[name](situation))
    finally:
        print(situation.revision)


if __name__ == "__main__":
    main()

"""Put the tools of real servers, and a public test suite, before the adapters, and print counts.

    python -m conformance.model_schemas [--suite DIR] [COMMAND ...]

Each COMMAND starts an MCP server over stdio; its tools are listed and defined for every provider.
DIR is a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite, whose schemas serve
as tools' schemas, as they are and as one property's. What every result must be: a
valid schema of an object, made without touching the original, under which every value is valid that
was. The exit status is 1 when one is not.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcpclient
from mcpclient.adapters.definitions import ToolDefinitions
from mcpclient.adapters.providers import PROVIDERS
from mcpclient.protocol.schema import SchemaError, compile_schema
from mcpclient.protocol.types import Tool

Json = dict[str, Any]

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
SCHEMA_OF: dict[str, Callable[[ToolDefinitions], Json]] = {
    "anthropic": lambda made: made[0]["input_schema"],
    "openai_chat": lambda made: made[0]["function"]["parameters"],
    "openai_responses": lambda made: made[0]["parameters"],
    "google": lambda made: made[0]["functionDeclarations"][0]["parametersJsonSchema"],
    "bedrock": lambda made: made[0]["toolSpec"]["inputSchema"]["json"],
}


class Judge:
    """Defines tools for every provider and counts what comes of it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def tool(self, tool: Tool, values: list[Json]) -> None:
        """Judge the definitions of one tool; ``values`` are arguments that are valid under it."""
        self.counts["tools"] += 1
        before = copy.deepcopy(tool.raw)
        for provider, adapter in PROVIDERS.items():
            for inline in (None, True):
                made = adapter.tools([tool], inline_refs=inline)
                self.definition(provider, tool, made, values)
                self.counts[f"{provider}: told"] += bool(made.problems) and inline is None
        strict = PROVIDERS["openai_chat"].tools([tool], strict=True)
        self.counts["strict"] += strict[0]["function"].get("strict", False)
        if tool.raw != before:
            self.failures.append(f"{tool.name}: the original was changed")

    def definition(
        self, provider: str, tool: Tool, made: ToolDefinitions, values: list[Json]
    ) -> None:
        schema = SCHEMA_OF[provider](made)
        (binding,) = made.bindings.values()
        renamed = {old: new for new, old in binding.properties.items()}
        try:
            compiled = compile_schema(schema)
        except SchemaError as error:
            self.failures.append(f"{tool.name} for {provider}: {error}")
            return
        for value in values:
            self.counts["values"] += 1
            sent = {renamed.get(name, name): item for name, item in value.items()}
            if compiled.validate(sent):
                self.failures.append(f"{tool.name} for {provider}: {json.dumps(value)} was lost")


async def tools_of(command: str) -> list[Tool]:
    async with mcpclient.connect(shlex.split(command), stderr="discard", timeout=60) as client:
        return await client.list_tools()


def tools_of_suite(suite: Path) -> Iterator[tuple[Tool, list[Json]]]:
    """Every schema of the suite as a tool's schema, with the objects that are valid under it."""
    for draft, uri in DRAFTS.items():
        for path in sorted((suite / "tests" / draft).glob("*.json")):
            for case in json.loads(path.read_text("utf-8")):
                schema, name = case["schema"], f"{path.stem}: {case['description']}"
                values = [test["data"] for test in case["tests"]]
                if isinstance(schema, dict):
                    yield _judged(name, {"$schema": uri, **schema}, values)
                if _can_move(schema):
                    inner = {"$schema": uri, "properties": {"x": schema}}
                    yield _judged(name, inner, [{"x": value} for value in values])


def _can_move(schema: object) -> bool:
    """Whether a schema means the same inside another: it refers to nothing of its own."""
    named = isinstance(schema, dict) and bool({"$id", "$schema"} & schema.keys())
    return not named and '"#' not in json.dumps(schema)


def _judged(name: str, schema: Json, values: list[Any]) -> tuple[Tool, list[Json]]:
    try:
        compiled = compile_schema(schema)
    except SchemaError:
        valid = []
    else:
        objects = [value for value in values if isinstance(value, dict)]
        valid = [value for value in objects if not compiled.validate(value)]
    return Tool({"name": name, "inputSchema": schema}), valid


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--suite", type=Path)
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    arguments = parser.parse_args()
    judge = Judge()
    for command in arguments.commands:
        try:
            tools = asyncio.run(tools_of(command))
        except mcpclient.McpError as error:
            print(f"{command}: {error}", file=sys.stderr)
            continue
        print(f"{command}: {len(tools)} tools")
        for tool in tools:
            judge.tool(tool, [])
    if arguments.suite is not None:
        for tool, values in tools_of_suite(arguments.suite):
            judge.tool(tool, values)
    for name, count in judge.counts.items():
        print(f"{count:6} {name}")
    for failure in judge.failures:
        print(failure)
    print(f"{len(judge.failures)} failures")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())

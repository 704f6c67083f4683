"""A made-up model API, by which the tests of the toolbox are about the toolbox alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcpclient.adapters import openai_responses
from mcpclient.adapters.definitions import ToolDefinitions


def call(name: str, arguments: str = "{}", identity: str = "") -> dict[str, Any]:
    """A call, as the Responses API writes it."""
    identity = identity or f"id_{name}"
    return {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments}


def response(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"output": [{"type": "reasoning", "summary": []}, *calls]}


def texts(messages: Iterable[dict[str, Any]]) -> list[str]:
    return [message["output"] for message in messages]


def names(tools: ToolDefinitions) -> list[str]:
    return [definition["name"] for definition in tools]


PROVIDER = openai_responses

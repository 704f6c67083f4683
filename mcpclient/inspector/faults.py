"""Violations of JSON-RPC and of MCP in the messages of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The members of results that must be of a type, by the method of their request.
_MEMBERS: Mapping[str, Mapping[str, type]] = {
    "initialize": {"protocolVersion": str, "capabilities": dict, "serverInfo": dict},
    "server/discover": {"supportedVersions": list, "capabilities": dict},
    "tools/list": {"tools": list},
    "tools/call": {"content": list},
    "resources/list": {"resources": list},
    "resources/templates/list": {"resourceTemplates": list},
    "resources/read": {"contents": list},
    "prompts/list": {"prompts": list},
    "prompts/get": {"messages": list},
    "completion/complete": {"completion": dict},
    "tasks/list": {"tasks": list},
}
# Results that stand for another: a task, or a question to the client.
_OTHER_TYPES = ("task", "input_required")
_NAMES: Mapping[type, str] = {str: "string", list: "list", dict: "object"}


def message_fault(message: Any) -> str:
    """Return the violation in a message by itself; an empty string if there is none."""
    if not isinstance(message, dict):
        return "it is not a JSON object"
    if not {"jsonrpc", "id", "method", "result", "error"} & message.keys():
        return "it is not a JSON-RPC message"
    if message.get("jsonrpc") != "2.0":
        return 'it has no "jsonrpc": "2.0"'
    identity = message.get("id", "")
    is_id = isinstance(identity, (int, str)) and not isinstance(identity, bool)
    # An error whose request could not be read has null.
    if not is_id and (identity is not None or "error" not in message):
        return "its id is neither a string nor an integer"
    if "method" in message:
        if not isinstance(message["method"], str):
            return "its method is not a string"
        if not isinstance(message.get("params", {}), dict):
            return "its params are not an object"
        return "it has a method and a result" if {"result", "error"} & message.keys() else ""
    if "id" not in message:
        return "it has neither a method nor an id"
    if ("result" in message) == ("error" in message):
        return f"it has {'both' if 'result' in message else 'neither'} result and error"
    error = message.get("error", {"message": "", "code": 0})
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return "its error has no message"
    code = error.get("code")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return "" if is_code else "its error has no integer as its code"


def result_fault(method: str, result: Any) -> str:
    """Return the violation in the result of a method, as `message_fault` does."""
    if not isinstance(result, dict):
        return "its result is not an object"
    if result.get("resultType") in _OTHER_TYPES or "task" in result:
        return ""
    for name, kind in _MEMBERS.get(method, {}).items():
        if not isinstance(result.get(name), kind):
            return f"its result has no {_NAMES[kind]} {name!r}"
    blocks = result.get("content", ()) if method == "tools/call" else ()
    if not all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in blocks):
        return "its content has a block without a type"
    return ""

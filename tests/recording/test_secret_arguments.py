"""Arguments that the schema of a tool marks as secret: F-AUTH-12."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.client.requests import connection_of
from mcpclient.protocol.wire_object import WireObject
from mcpclient.recording.redaction import Redactor
from mcpclient.recording.secret_arguments import (
    SecretArguments,
    is_secret,
    masked,
    schemas_with_secrets,
)
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd

PACKAGE = str(Path(mcpclient.__file__).parent)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "format": "password"},
        "number": {"type": "integer", "writeOnly": True},
        "several": {"type": "array", "items": {"$ref": "#/$defs/Hidden"}},
        "nested": {"properties": {"inner": {"anyOf": [{"$ref": "#/$defs/Hidden"}]}}},
        "whole": {"type": "object", "writeOnly": True},
        "plain": {"type": "string"},
    },
    "$defs": {"Hidden": {"allOf": [{"format": "password"}]}},
}
ARGUMENTS = {
    "word": "SECRETONE",
    "number": 777123,
    "several": [{"a": 1}, "x"],
    "nested": {"inner": "SECRETTWO", "plain": "kept"},
    "whole": {"a": ["SECRETTHREE", 1], "b": True},
    "plain": "kept",
}
TOOL = {"name": "log_on", "inputSchema": SCHEMA}


def test_what_a_schema_marks() -> None:
    """F-SAFE-6: by ``format``, by ``writeOnly``, behind references, in branches and in lists."""
    shown = masked(ARGUMENTS, SCHEMA, SCHEMA, lambda value: "…")
    assert shown["nested"] == {"inner": "…", "plain": "kept"}
    assert (shown["word"], shown["number"], shown["whole"], shown["plain"]) == (
        *("…", "…", "…"),
        "kept",
    )
    listed = {"items": {"properties": {"a": {"writeOnly": True}}}}
    assert masked([{"a": 5}], listed, listed, str) == [{"a": "5"}]
    assert is_secret("word", SCHEMA["properties"]["word"], SCHEMA)
    assert set(
        schemas_with_secrets([TOOL, {"name": "x", "inputSchema": {}}, {}, {"name": []}])
    ) == {"log_on"}


def test_the_repr_of_arguments_leaves_out_what_is_secret() -> None:
    arguments = SecretArguments(ARGUMENTS, SCHEMA)
    assert arguments == ARGUMENTS
    assert json.loads(json.dumps(arguments)) == ARGUMENTS
    for shown in (repr(arguments), f"{ {'arguments': arguments} }"):
        assert "SECRET" not in shown
        assert "777123" not in shown
        assert "kept" in shown


def test_a_redactor_learns_from_a_list_of_tools() -> None:
    """F-SAFE-6, F-SHOW-6"""
    redactor = Redactor()
    call = {"method": "tools/call", "params": {"name": "log_on", "arguments": ARGUMENTS}}
    redactor.record({"direction": "received", "message": {"result": {"tools": [TOOL, 3]}}})
    for message in (call, [call]):
        text = json.dumps(redactor.record({"direction": "sent", "message": message}))
        assert "SECRET" not in text
        assert "777123" not in text
        assert "kept" in text
        assert '"b": true' in text
    echo = redactor.record({"direction": "received", "message": {"result": "hi SECRETTWO"}})
    assert "SECRET" not in json.dumps(echo)
    odd = {"method": "tools/call", "params": {"name": ["log_on"], "arguments": 3}}
    assert redactor.record({"message": odd})["message"] == odd


async def serve(end: ServerEnd) -> None:
    """Offer the tool, and fail each call, repeating its arguments."""
    async for message in end:
        if message.get("method") == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "x", "version": "1"},
            }
        elif message.get("method") == "tools/list":
            result = {"tools": [TOOL]}
        elif message.get("method") == "tools/call":
            result = {"isError": True, "content": [{"type": "text", "text": "no"}]}
        else:
            continue
        end.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


@pytest.mark.parametrize("way", ["call_tool", "call_tools", "a late trace", "a cassette"])
def test_secret_arguments_are_nowhere(way: str, tmp_path: Path) -> None:
    """F-SAFE-6: not in a trace, in a recording, in a cassette, or in the locals of a frame."""
    path = tmp_path / "trace.jsonl"
    arguments = {"word": "SECRET" + "ONE", "number": 777_000 + 123}
    frames: list[str] = []

    async def call(client: mcpclient.Client) -> None:
        try:
            await client.call_tool("log_on", arguments, raise_on_error=True)
        except mcpclient.ToolError as error:
            shown = traceback.StackSummary.extract(
                traceback.walk_tb(error.__traceback__), capture_locals=True
            )
            own = [each for each in shown if each.filename.startswith(PACKAGE)]
            frames.extend(str(frame.locals) for frame in own)

    async def main() -> None:
        transport = InProcessTransport(serve)
        trace = None if way == "a late trace" else path
        client = mcpclient.Client(transport, protocol_version="2025-11-25", trace=trace)
        async with client:
            await client.list_tools()
            end = connection_of(client).trace_to(path) if way == "a late trace" else None
            if way == "call_tools":
                await client.call_tools([("log_on", arguments)])
            else:
                await call(client)
            if end is not None:
                end()

    asyncio.run(main())
    written = path.read_text()
    assert "tools/call" in written
    for text in (written, *frames):
        assert "SECRETONE" not in text
        assert "777123" not in text
    assert frames or way == "call_tools"
    if way == "a cassette":
        replayed: list[bool] = []

        async def replay() -> None:
            async with mcpclient.Client(mcpclient.Recording(path)) as client:
                await client.list_tools()
                replayed.append((await client.call_tool("log_on", arguments)).is_error)

        asyncio.run(replay())
        assert replayed == [True]


# It repeats its arguments while it dies, in an answer, or not at all.
ECHOING = """
import json, sys
tool, mode = json.loads(sys.argv[1]), sys.argv[2]
for line in sys.stdin:
    message = json.loads(line)
    method, given = message.get("method"), message.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "x", "version": "1"}}
    elif method == "tools/list":
        answer["result"] = {"tools": [tool]}
    elif method == "server/discover":
        answer["error"] = {"code": -32601, "message": "Method not found"}
    elif method != "tools/call" or mode == "silent":
        continue
    elif mode == "dies":
        print("Traceback:", given["arguments"], file=sys.stderr)
        print("not JSON-RPC:", json.dumps(given["arguments"]))
        sys.exit(3)
    elif mode == "refuses":
        answer["error"] = {"code": -32602, "message": f"bad {given['arguments']}", "data": given}
    elif mode == "fails":
        text = json.dumps(given["arguments"])
        answer["result"] = {"isError": True, "content": [{"type": "text", "text": text}]}
    print(json.dumps(answer), flush=True)
"""
OPTIONS: dict[str, Any] = {"timeout": 0.5, "raise_on_error": True}


def secret() -> dict[str, Any]:
    return {"word": "SECRET" + "ONE", "number": 777_000 + 123}


async def by_agent_tool(manager: mcpclient.Manager) -> None:
    await manager.toolbox("anthropic").agent_tools[0].execute(secret(), bogus=1)


WAYS: dict[str, Any] = {
    "a call": lambda manager: manager["s"].call_tool("log_on", secret(), **OPTIONS),
    "a call of a manager": lambda manager: manager.call_tool("s__log_on", secret(), **OPTIONS),
    "a raw request": lambda manager: manager["s"].request(
        "tools/call", {"name": "log_on", "arguments": secret()}, timeout=0.5
    ),
    "several": lambda manager: manager["s"].call_tools([("log_on", secret())], **OPTIONS),
    "a model's call": by_agent_tool,
}


def test_data_that_is_nested_too_deeply_is_left_out() -> None:
    """F-AUTH-12: concealing never fails."""
    data: Any = "SECRET" + "ONE"
    for _ in range(3000):
        data = [data]
    error = mcpclient.PeerError(1, "no", data)
    SecretArguments(secret(), TOOL["inputSchema"]).conceal_in(error)
    assert error.data == "…"


def shown_by(error: BaseException) -> str:
    """The content of an error, its causes, and the variables of the library's frames."""
    shown: list[str] = []
    seen = [error]
    for each in seen:
        for behind in (each.__cause__, each.__context__):
            if behind is not None and behind not in seen:
                seen.append(behind)
        frames = traceback.walk_tb(each.__traceback__)
        stack = traceback.StackSummary.extract(frames, capture_locals=True)
        shown += [str(each), repr(each), repr(vars(each)), repr(each.args)]
        shown += [repr(value.raw) for value in vars(each).values() if isinstance(value, WireObject)]
        shown += [str(one.locals) for one in stack if one.filename.startswith(PACKAGE)]
    return "\n".join(shown)


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("mode", ["dies", "refuses", "fails", "silent"])
def test_no_error_of_a_call_shows_its_secret_arguments(mode: str) -> None:
    """F-AUTH-12: nor the variables of a frame, and if the server repeats them in its last words."""
    command = [sys.executable, "-c", ECHOING, json.dumps(TOOL), mode]
    errors: dict[str, BaseException] = {}

    async def main() -> None:
        for way, call in WAYS.items():
            async with mcpclient.Manager({"s": command}, reconnect=None) as manager:
                try:
                    outcome = await call(manager)
                except mcpclient.McpError as error:
                    outcome = [error]
                found = [each for each in outcome if isinstance(each, BaseException)]
                errors.update(zip([way], found))

    asyncio.run(main())
    assert len(errors) == len(WAYS) - (mode == "fails")  # Its raw result is not an error.
    for way, error in errors.items():
        shown = shown_by(error)
        assert "SECRETONE" not in shown and "777123" not in shown, (way, shown)

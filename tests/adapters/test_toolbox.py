"""The toolbox: live tools, all calls of a turn, and no call that loses another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.adapters import toolbox
from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.toolbox import Toolbox
from mcpclient.client.events.around import Call
from mcpclient.net import futures
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.models import call, names, response, texts
from tests.client.inside import VERSIONS, Server

pytestmark = pytest.mark.virtual_time

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def definition(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": SCHEMA, **fields}


TOOLS = {"tools": [definition("echo"), definition("files.delete"), definition("slow")]}


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def echo(params: Mapping[str, Any]) -> dict[str, Any]:
    return text(f"{params['name']} {params['arguments']}")


def server_of(**answers: Any) -> Server:
    return Server(**{"tools_list": TOOLS, "tools_call": echo, **answers})


async def made(client: mcpclient.Client, **options: Any) -> Toolbox:
    return await client.toolbox("openai_responses", **options)


async def test_a_toolbox_of_a_client_is_awaited() -> None:
    """F-TOOL-7: without it there are no tools, and the error says what to do."""
    server = server_of()
    async with server.session() as client:
        box = client.toolbox("anthropic")
        with pytest.raises(mcpclient.UsageError, match="must be awaited"):
            box.tools  # noqa: B018
        assert await box is box
        assert len(box.tools) == 3


# Subclasses of it stand for any class.
_Any: Any = object


class Source(_Any):  # type: ignore[misc]
    """A source whose calls obey the test."""

    def __init__(self, **behaviour: Any) -> None:
        self.behaviour = behaviour
        self.running = 0
        self.tools_are_stale = False

    async def list_tools(self) -> list[Tool]:
        return [Tool(definition(name)) for name in self.behaviour]

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> CallToolResult:
        behaviour = self.behaviour[name]
        self.running += 1
        try:
            if isinstance(behaviour, BaseException):
                raise behaviour
            if behaviour is not None:
                await behaviour
        finally:
            self.running -= 1
        return CallToolResult(text(f"{name} done"))

    async def list_resources(self) -> list[mcpclient.Resource]:
        return []

    async def list_resource_templates(self) -> list[mcpclient.ResourceTemplate]:
        return []

    async def read_resource(self, uri: str, /, **options: Any) -> mcpclient.ReadResourceResult:
        raise mcpclient.PeerError(-32002, "no such resource")


async def test_one_bad_call_never_loses_the_others() -> None:
    """F-TOOL-2: of an exception that is not this library's, the model learns the type only."""
    timeout = mcpclient.CallTimeout("tools/call", 3.0, "idle")
    source = Source(
        good=None, gone=mcpclient.ConnectionLost("it ended"), slow=timeout, bad=KeyError("secret")
    )
    box = await Toolbox(source, "openai_responses")
    turn = response(call("gone"), call("bad"), call("good"), call("slow"))
    said = texts(await box.run(turn))
    assert said == [
        "Tool error: it ended",
        "Tool error: KeyError",
        "good done",
        f"Tool error: {timeout}",
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (True, "echo {}"),
        (False, "Tool error: echo was not called: the user did not allow it"),
        ("not today", "Tool error: echo was not called: not today"),
        (None, "Tool error: echo was not called: the user did not allow it"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_approval(answer: Any, said: str, is_async: bool) -> None:
    """F-TOOL-7: through the one hook around calls; only True allows."""
    server = server_of()
    asked: list[tuple[ToolCall, Tool]] = []

    async def later(one: ToolCall, tool: Tool) -> Any:
        asked.append((one, tool))
        return answer

    def at_once(one: ToolCall, tool: Tool) -> Any:
        asked.append((one, tool))
        return answer

    async with server.session() as client:
        box = await made(client, approve=later if is_async else at_once)
        assert texts(await box.run(response(call("echo")))) == [said]
        ((one, tool),) = asked
        assert (one.name, one.arguments, tool.name) == ("echo", {}, "echo")
        made_calls = [method for method, _ in server.asked if method == "tools/call"]
        assert len(made_calls) == (answer is True)


async def test_an_approval_that_fails_refuses() -> None:
    """F-TOOL-7: nothing is called because asking went wrong."""
    server = server_of()

    def approve(one: ToolCall, tool: Tool) -> bool:
        raise OSError("no terminal")

    async with server.session() as client:
        box = await made(client, approve=approve)
        (said,) = texts(await box.run(response(call("echo"))))
        assert said == "Tool error: echo was not called: asking for approval failed (OSError)"
        assert "tools/call" not in dict(server.asked)


@pytest.mark.parametrize("version", VERSIONS)
async def test_tools_that_change_are_listed_again(version: str) -> None:
    """F-TOOL-7, F-MANY-12: the list stays the same object."""
    listed = {"tools": [definition("echo")]}
    server = server_of(tools_list=lambda params: dict(listed))
    async with server.session(version, cache=False) as client:
        box = await made(client)
        tools = box.tools
        listed["tools"] = [definition("new")]
        server.notify("notifications/tools/list_changed")
        await asyncio.sleep(0.01)
        assert texts(await box.run(response(call("echo")))) == ["echo {}"]
        assert box.tools is tools
        assert names(tools) == ["new"]
        assert texts(await box.run(response(call("echo")))) == ["echo {}"]  # it was offered before


async def test_a_list_that_cannot_be_had_again_keeps_the_old_one() -> None:
    """F-TOOL-7: the answers of the turn are not lost for it."""
    source = Source(good=None)
    box = await Toolbox(source, "openai_responses")

    async def fail() -> list[Tool]:
        raise mcpclient.ConnectionLost("gone")

    source.list_tools = fail  # type: ignore[method-assign]
    source.tools_are_stale = True
    assert texts(await box.run(response(call("good")))) == ["good done"]
    assert names(box.tools) == ["good"]


class LiveTools(list[Tool]):
    version = 1


class Live(Source):
    """The shape of a manager: it keeps a list of tools itself."""

    def __init__(self, *names: str) -> None:
        super().__init__(**dict.fromkeys(names))
        self.tools = LiveTools(Tool(definition(name)) for name in names)

    def change(self, *names: str) -> None:
        self.tools[:] = [Tool(definition(name)) for name in names]
        self.behaviour.update(dict.fromkeys(names))
        self.tools.version += 1


RESOURCES = {
    "resources": [
        {"uri": "memo://1", "name": "first", "mimeType": "text/plain", "description": "a\nmemo"},
        {"uri": "memo://2", "name": "second"},
    ]
}


async def test_a_tool_of_the_server_keeps_its_name() -> None:
    """F-TOOL-5, F-MANY-11: the ready tools give way."""
    box = await Toolbox(Source(list_resources=None), "openai_responses", resources=True)
    assert names(box.tools) == ["list_resources", "list_resources_", "read_resource"]
    assert texts(await box.run(response(call("list_resources")))) == ["list_resources done"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"name": "tool_3"}', "tool_3 done"),
        ('{"name": "tool_3", "n": 1}', "tool_3 done"),
        ('{"name": "tool_3", "arguments": "{\\"n\\": 1}"}', "tool_3 done"),
        ('{"name": "tool_x"}', "Tool error: there is no tool 'tool_x'"),
        ("{}", "Tool error: The call names no tool."),
        ("{", "Tool error: The arguments are not valid JSON"),
        ('{"name": "call_tool"}', "Tool error: Give the name of a tool"),
    ],
)
async def test_calls_of_what_was_found(arguments: str, said: str) -> None:
    """F-TOOL-9: in every way that models write them; approval is asked about the tool itself."""
    asked = []

    def approve(one: ToolCall, tool: Tool) -> bool:
        asked.append((one.name, one.called_as, tool.name))
        return True

    class Asking(Live):
        async def call_tool(
            self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
        ) -> CallToolResult:
            (around,) = options["around"]

            async def proceed(one: Any) -> CallToolResult:
                return CallToolResult(text(f"{name} done"))

            result: CallToolResult = await around(
                Call("demo", name, name, arguments or {}), proceed
            )
            return result

    box = Toolbox(Asking("tool_3"), "openai_responses", search=True, approve=approve)
    (answer,) = texts(await box.run(response(call("call_tool", arguments))))
    assert answer.startswith(said)
    assert asked == ([("tool_3", "tool_3", "tool_3")] if said == "tool_3 done" else [])


async def test_names_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-TOOL-9: a server that makes up new ones does not fill the memory; what stays, stays."""
    monkeypatch.setattr(toolbox, "_MOST_REMEMBERED", 20)
    source = Live("stays.b", "stays.a")
    box = Toolbox(source, "openai_responses", resources=True)
    shown = names(box.tools)
    for turn in range(30):
        source.change(*(f"t{turn}_{number}" for number in range(4)), "stays.a", "stays.b")
        assert names(box.tools)[:4] == shown
        assert len(box.tools) == 8
    assert "no tool" in texts(await box.run(response(call("t0_0"))))[0]


async def test_many_tools_do_not_hold_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-TOOL-9: they are converted in slices of time, between which others have their turn."""
    source = Live(*(f"t{number}" for number in range(120)))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(others())
    monkeypatch.setattr(futures, "_SLICE", -1.0)  # no time at all
    box = await Toolbox(source, "openai_responses")
    assert len(box.tools) == 120
    assert turns >= 5 * 120  # for each tool: filter, place, name, convert, write
    task.cancel()


@pytest.mark.slow
async def test_definitions_that_multiply_are_bounded() -> None:
    """F-TOOL-9: each by itself, and all of them together; both are reported."""
    source = Live(*(f"t{number}" for number in range(60)))
    defs: Any = {f"d{level}": {"type": "string"} for level in range(20)}
    for level in range(19):
        part = {"$ref": f"#/$defs/d{level + 1}"}
        defs[f"d{level}"] = {"type": "object", "properties": {"a": part, "b": part}}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    for tool in source.tools:
        tool.raw["inputSchema"] = schema
    box = await Toolbox(source, "google", inline_refs=True)
    shown = json.dumps(box.tools)
    assert len(shown) < 3_000_000
    assert "$ref" not in shown
    problems = list(map(str, box.tools.problems))
    together = [each for each in problems if "after 20,000 subschemas" in each]
    assert len(together) == 1
    assert sum("t0: " in each and "is too large with" in each for each in problems) > 1
    last = [each for each in problems if each.startswith("t59: ")]
    assert last[0] == "t59: at /properties/x: the schema is too large with d0 in its place"
    source.change("t0")  # This makes room again.
    tool = Tool(definition("new", inputSchema=schema))
    source.tools.append(tool)
    assert len(json.dumps(box.tools[-1])) > 10_000


async def test_a_tool_that_was_shown_and_is_hidden_now_is_not_called() -> None:
    """F-TOOL-9."""
    source = Live("a")
    box = Toolbox(source, "openai_responses")
    assert names(box.tools) == ["a"]
    source.change("b")
    source.tools.append(Tool(definition("a", _meta={"ui": {"visibility": ["app"]}})))
    (said,) = texts(await box.run(response(call("a"))))
    assert said.startswith("Tool error: there is no tool 'a'")


async def test_an_option_that_does_not_exist() -> None:
    """F-TOOL-9: a misspelt timeout is rejected."""
    box = await Toolbox(Source(a=None), "openai_responses")
    with pytest.raises(mcpclient.UsageError, match="did you mean 'timeout'"):
        await box.run(response(call("a")), tiemout=3)
    with pytest.raises(mcpclient.UsageError, match="did you mean 'timeout'"):
        await box.agent_tools[0].execute({}, tiemout=3)
    assert texts(await box.run(response(call("a")), timeout=3)) == ["a done"]


async def test_functions_of_ones_own() -> None:
    """F-TOOL-9: answered like the others, with approval, hooks and timeouts."""
    asked, seen = [], []

    async def count(word: str) -> int:
        return len(word)

    async def slow() -> str:
        await asyncio.sleep(100)
        return "late"

    async def broken() -> None:
        raise KeyError("secret")

    def approve(one: ToolCall, tool: Tool) -> bool | str:
        asked.append(tool.name)
        return one.arguments != {"word": "no"}

    async def around(one: Any, proceed: Any) -> Any:
        seen.append((one.name, one.trace))
        return await proceed(one)

    functions: list[Any] = [count, slow, broken]
    box = await Toolbox(Source(), "openai_responses", functions=functions, approve=approve)
    assert names(box.tools) == ["count", "slow", "broken"]
    turn = response(
        call("count", '{"word": "four"}', "1"),
        call("count", '{"word": "no"}', "2"),
        call("count", '{"word": 5}', "3"),
        call("slow"),
        call("broken"),
    )
    said = texts(await box.run(turn, timeout=3, around=[around], trace="t"))
    assert said == [
        "4",
        "Tool error: count was not called: the user did not allow it",
        "Tool error: word: expected text, got 5. Call again.",
        "Tool error: slow: no answer within 3 s (timeout)",
        "Tool error: KeyError",
    ]
    assert seen[0] == ("count", "t")
    assert (len(asked), len(seen)) == (5, 4)


async def test_tools_for_a_program_with_its_own_loop() -> None:
    """F-TOOL-1, F-TOOL-2: definition and execute, the ready tools among them."""
    server = server_of(resources_list=RESOURCES)
    async with server.session() as client:
        box = await made(client, resources=True, exclude=["slow"])
        tools = {tool.name: tool for tool in box.agent_tools}
        assert list(tools) == ["echo", "files_delete", "list_resources", "read_resource"]
        assert tools["files_delete"].definition["name"] == "files_delete"
        assert await tools["files_delete"].execute({"n": 1}) == "files.delete {'n': 1}"
        assert "memo://1" in await tools["list_resources"].execute(None)

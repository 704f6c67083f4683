"""The toolbox: live tools, all calls of a turn, and no call that loses another."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.adapters import definitions, toolbox
from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.limits import Limits
from mcpclient.adapters.schemas.rewriting import normal_schema
from mcpclient.adapters.toolbox import Toolbox
from mcpclient.client.events.around import Call, refusal
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


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_turn(version: str) -> None:
    """F-TOOL-7, F-TOOL-2: definitions go out, calls come back, and answers are in their order."""
    server = server_of()
    async with server.session(version) as client:
        box = await made(client)
        assert names(box.tools) == ["echo", "files_delete", "slow"]
        turn = response(call("files_delete", '{"n": 1}'), call("echo", '{"n": 2}', "b"))
        messages = await box.run(turn)
        assert [message["call_id"] for message in messages] == ["id_files_delete", "b"]
        assert texts(messages) == ["files.delete {'n': 1}", "echo {'n': 2}"]


async def test_a_call_that_is_cancelled_by_itself_is_one_answer_of_several() -> None:
    """F-TOOL-2: as by a hook of the program that gives up waiting for something."""
    server = server_of()

    async def around(call: Any, proceed: Any) -> Any:
        if call.name == "slow":
            raise asyncio.CancelledError
        return await proceed(call)

    async with server.session(VERSIONS[0]) as client:
        box = await made(client)
        messages = await box.run(response(call("slow"), call("echo")), around=[around])
        assert texts(messages)[1] == "echo {}"
        assert len(messages) == 2


async def test_a_toolbox_of_a_client_is_awaited() -> None:
    """F-TOOL-7: without it there are no tools, and the error says what to do."""
    server = server_of()
    async with server.session() as client:
        box = client.toolbox("anthropic")
        with pytest.raises(mcpclient.UsageError, match="must be awaited"):
            box.tools  # noqa: B018
        assert await box is box
        assert len(box.tools) == 3


async def test_running_is_enough_to_have_the_tools() -> None:
    """F-TOOL-7: a program that restarts in the middle of a conversation goes on."""
    server = server_of()
    async with server.session() as client:
        box = client.toolbox("openai_responses")
        assert texts(await box.run(response(call("echo")))) == ["echo {}"]


async def test_what_a_model_gets_wrong_is_told_to_it() -> None:
    """F-TOOL-2: no exception, and the calls beside it are made."""
    server = server_of()
    async with server.session() as client:
        box = await made(client)
        turn = response(
            call("ecko"),
            call("echo", "{'n': 1}", "a"),
            call("echo", "[]", "b"),
            call("echo", "", "c"),
            call("slow", "{}", "c"),
        )
        said = texts(await box.run(turn))
        assert said[0] == "Tool error: there is no tool 'ecko'; did you mean 'echo'?"
        assert said[1].startswith("Tool error: The arguments are not valid JSON: ")
        assert said[2] == "Tool error: The arguments are not a JSON object. Call again with one."
        assert said[3] == "echo {}"
        assert said[4].startswith("Tool error: Two calls have the id c; only the first was made.")
        assert [asked[0] for asked in server.asked].count("tools/call") == 1


async def test_ten_megabytes_of_arguments() -> None:
    """F-TOOL-2: they are handed on."""
    server = server_of(tools_call=lambda params: text(str(len(params["arguments"]["s"]))))
    async with server.session() as client:
        box = await made(client)
        huge = '{"s": "' + "x" * 10_000_000 + '"}'
        assert texts(await box.run(response(call("echo", huge)))) == ["10000000"]


# Subclasses of it stand for any class.
_Any: Any = object


class Source(_Any):  # type: ignore[misc]
    """A source whose calls do what the test says."""

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


async def test_calls_run_side_by_side() -> None:
    """F-TOOL-2: each waits for the other, so one after the other they would never end."""
    first, second = asyncio.Event(), asyncio.Event()

    async def one() -> None:
        first.set()
        await second.wait()

    async def two() -> None:
        second.set()
        await first.wait()

    box = await Toolbox(Source(one=one(), two=two()), "openai_responses")
    assert texts(await box.run(response(call("one"), call("two")))) == ["one done", "two done"]


async def test_cancelling_the_turn_cancels_all_of_its_calls() -> None:
    """F-TOOL-2."""
    source = Source(one=asyncio.Event().wait(), two=asyncio.Event().wait())
    box = await Toolbox(source, "openai_responses")
    turn = asyncio.ensure_future(box.run(response(call("one"), call("two"))))
    await asyncio.sleep(1)
    assert source.running == 2
    turn.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await turn
    assert turn.cancelled()
    assert source.running == 0


async def test_what_is_no_response_is_an_error() -> None:
    """F-TOOL-2: that is the program's mistake, not the model's."""
    box = await Toolbox(Source(), "openai_responses")
    with pytest.raises(mcpclient.UsageError, match="it has no output"):
        await box.run({"choices": []})


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


async def test_a_user_is_asked_one_question_at_a_time() -> None:
    """F-TOOL-7."""
    server = server_of()
    open_questions = []

    async def approve(one: ToolCall, tool: Tool) -> bool:
        open_questions.append(one.name)
        assert len(open_questions) == 1
        await asyncio.sleep(1)
        open_questions.remove(one.name)
        return True

    async with server.session() as client:
        box = await made(client, approve=approve)
        said = texts(await box.run(response(call("slow"), call("echo"), call("files_delete"))))
        assert said == ["slow {}", "echo {}", "files.delete {}"]


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


async def test_hooks_given_with_the_turn_stand_around_the_approval() -> None:
    """F-TOOL-7, F-API-23."""
    server = server_of()

    async def no(wire: mcpclient.Call, proceed: Any) -> CallToolResult:
        return refusal("no")

    def never(one: ToolCall, tool: Tool) -> bool:
        raise AssertionError

    async with server.session() as client:
        box = await made(client, approve=never)
        assert texts(await box.run(response(call("echo")), around=[no])) == ["Tool error: no"]


async def test_include_and_exclude() -> None:
    """F-TOOL-7, F-MANY-13: a tool that is left out cannot be called either."""
    server = server_of()
    async with server.session() as client:
        box = await made(client, include=["*o*", "files.*"], exclude=["*delete*"])
        assert names(box.tools) == ["echo", "slow"]
        (said,) = texts(await box.run(response(call("files_delete"))))
        assert said == "Tool error: there is no tool 'files_delete'"


async def test_patterns_hold_for_the_tools_of_resources() -> None:
    """F-TOOL-5, F-TOOL-7: by their own names, where they are excluded."""
    server = server_of(resources_list=RESOURCES)
    async with server.session() as client:
        box = await made(client, resources=True, include=["echo"], exclude=["read_*"])
        assert names(box.tools) == ["echo", "list_resources"]
        assert box.tools.problems == []


async def test_limits_hold_for_the_results() -> None:
    """F-TOOL-8."""
    server = server_of(tools_call=lambda params: text("x" * 100 + "end"))
    async with server.session() as client:
        box = await made(client, limits=Limits(max_chars=12))
        (said,) = texts(await box.run(response(call("echo"))))
        assert said == "xxxxxxxxx\n\n[… 91 characters left out …]\n\nend"


@pytest.mark.parametrize("version", VERSIONS)
async def test_tools_that_change_are_listed_again(version: str) -> None:
    """F-TOOL-7, F-MANY-12: the list stays the same object."""
    listed = {"tools": [definition("echo")]}
    server = server_of(tools_list=lambda params: dict(listed))
    async with server.session(version, cache=False) as client:
        box = await made(client)
        tools = box.tools
        listed["tools"] = [definition("new")]
        client._listed.notified("notifications/tools/list_changed", {})
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
    """What a manager looks like: it keeps a list of tools itself."""

    def __init__(self, *names: str) -> None:
        super().__init__(**dict.fromkeys(names))
        self.tools = LiveTools(Tool(definition(name)) for name in names)

    def change(self, *names: str) -> None:
        self.tools[:] = [Tool(definition(name)) for name in names]
        self.behaviour.update(dict.fromkeys(names))
        self.tools.version += 1


async def test_the_live_list_of_a_manager() -> None:
    """F-TOOL-7, F-MANY-12: no waiting, and a new version is seen at once."""
    source = Live("a", "b")
    box = Toolbox(source, "openai_responses")
    tools = box.tools
    assert names(tools) == ["a", "b"]
    source.tools[:] = [Tool(definition("c"))]
    source.behaviour["c"] = None
    assert names(box.tools) == ["a", "b"]
    source.tools.version = 2
    assert names(box.tools) == ["c"]
    assert box.tools is tools
    assert texts(await box.run(response(call("c")))) == ["c done"]
    await box.refresh()


RESOURCES = {
    "resources": [
        {"uri": "memo://1", "name": "first", "mimeType": "text/plain", "description": "a\nmemo"},
        {"uri": "memo://2", "name": "second"},
    ]
}


async def test_the_two_resource_tools() -> None:
    """F-TOOL-5."""
    contents = {"contents": [{"uri": "memo://1", "text": "inside"}]}
    server = server_of(resources_list=RESOURCES, resources_read=contents)
    async with server.session() as client:
        box = await made(client, resources=True)
        assert names(box.tools)[3:] == ["list_resources", "read_resource"]
        turn = response(
            call("list_resources"),
            call("read_resource", '{"uri": "memo://1"}', "r"),
            call("read_resource", "{}", "e"),
        )
        listed, read, wrong = texts(await box.run(turn))
        assert listed.splitlines() == [
            '- memo://1 {"name": "first", "type": "text/plain"} a memo',
            '- memo://2 {"name": "second"}',
        ]
        assert read == "[resource memo://1]\ninside"
        assert wrong.startswith("Tool error: Give the uri of a resource")


async def test_a_resource_that_cannot_be_read_is_told() -> None:
    """F-TOOL-5."""
    box = await Toolbox(Source(), "openai_responses", resources=True)
    turn = response(call("list_resources"), call("read_resource", '{"uri": "x:"}'))
    assert texts(await box.run(turn)) == [
        "The list of resources is empty.",
        "Tool error: the server answered with error -32002: no such resource",
    ]


async def test_a_tool_of_the_server_keeps_its_name() -> None:
    """F-TOOL-5, F-MANY-11: the ready tools give way."""
    box = await Toolbox(Source(list_resources=None), "openai_responses", resources=True)
    assert names(box.tools) == ["list_resources", "list_resources_", "read_resource"]
    assert texts(await box.run(response(call("list_resources")))) == ["list_resources done"]


def many() -> Live:
    source = Live(*(f"tool_{number}" for number in range(30)))
    source.tools.append(Tool(definition("send_mail", description="Send a message to a person")))
    source.behaviour["send_mail"] = None
    return source


async def test_search_in_place_of_many_tools() -> None:
    """F-TOOL-7, F-TOOL-9, F-MANY-17: over 20 turns not a byte of the definitions changes."""
    source = many()
    source.tools.append(Tool(definition("mail.count", description="Count the messages")))
    source.behaviour["mail.count"] = None
    box = Toolbox(source, "openai_responses", search=True)
    before = json.dumps(box.tools)
    assert names(box.tools) == ["search_tools", "call_tool"]
    for turn in range(20):
        (found,) = texts(await box.run(response(call("search_tools", '{"query": "message"}'))))
        told = [json.loads(line)["name"] for line in found.splitlines()[1:]]
        assert sorted(told) == ["mail_count", "send_mail"]
        wanted = json.dumps({"name": told[turn % 2], "arguments": {"n": turn}})
        (said,) = texts(await box.run(response(call("call_tool", wanted))))
        assert said == f"{told[turn % 2].replace('mail_', 'mail.')} done"
        assert json.dumps(box.tools) == before


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


@pytest.mark.parametrize(("above", "shown"), [(30, 2), (31, 31), ("1%", 2), ("90%", 31)])
def test_search_only_above_a_number(above: int | str, shown: int) -> None:
    """F-TOOL-7, F-TOOL-9: of tools, or of tokens as a share of the context."""
    box = Toolbox(many(), "openai_responses", search=above, context=10_000)
    assert len(box.tools) == shown


def test_whether_to_search_is_decided_once() -> None:
    """F-TOOL-9: for a conversation, whatever comes and goes; not while there are no tools."""
    source = Live()
    box = Toolbox(source, "openai_responses", search=2, resources=True)
    assert names(box.tools) == ["list_resources", "read_resource"]
    source.change("a", "b", "c")
    searching = names(box.tools)
    assert searching[2:] == ["search_tools", "call_tool"]
    source.change("a")
    assert names(box.tools) == searching
    other = Toolbox(source, "openai_responses", search=2)
    assert names(other.tools) == ["a"]
    source.change("a", "b", "c", "d")
    assert names(other.tools) == ["a", "b", "c", "d"]


def test_tools_never_change_places() -> None:
    """F-TOOL-9: what comes is last, what comes back has its old place, and keeps its name."""
    source = Live("b", "a.x")
    box = Toolbox(source, "openai_responses", resources=True)
    assert names(box.tools) == ["b", "a_x", "list_resources", "read_resource"]
    source.change("c", "a_x", "a.x", "b", "list_resources")
    shown = names(box.tools)
    assert shown[:5] == ["b", "a_x", "list_resources", "read_resource", "c"]
    assert box.tools.bindings["a_x"].tool.name == "a.x"
    assert shown[5].startswith("a_x_")
    assert len(shown) == 6
    source.change("c", "b")
    assert names(box.tools) == ["b", "list_resources", "read_resource", "c"]
    source.change("a.x", "c", "b")
    assert names(box.tools) == ["b", "a_x", "list_resources", "read_resource", "c"]


def test_names_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-TOOL-9: a server that makes up new ones does not fill the memory; what stays, stays."""
    monkeypatch.setattr(toolbox, "_MOST_REMEMBERED", 20)
    source = Live("stays.b", "stays.a")
    box = Toolbox(source, "openai_responses", resources=True)
    shown = names(box.tools)
    for turn in range(30):
        source.change(*(f"t{turn}_{number}" for number in range(4)), "stays.a", "stays.b")
        assert names(box.tools)[:4] == shown
        assert len(box.tools) == 8
    assert len(box._places) < 30
    assert len(box._known.bindings) < 30


def test_only_what_changed_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-TOOL-9: one of many tools is new, and the others are left alone."""
    converted = []

    def convert(tool: Tool) -> Any:
        converted.append(tool.name)
        return normal_schema(tool)

    monkeypatch.setattr(definitions, "normal_schema", convert)
    source = Live(*(f"t{number}" for number in range(100)))
    box = Toolbox(source, "anthropic", functions=[len_of])
    assert len(box.tools) == 101
    kept = source.tools[:90]
    source.change(*(f"t{number}" for number in range(90, 101)))
    source.tools[:0] = kept
    converted.clear()
    assert len(box.tools) == 102
    assert [name for name in converted if name != "len_of"] == ["t100"]


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
    monkeypatch.setattr(toolbox, "_SLICE", -1.0)  # no time at all
    box = await Toolbox(source, "openai_responses")
    assert (len(box.tools), turns) == (120, 120)
    task.cancel()


async def test_definitions_that_multiply_are_bounded() -> None:
    """F-TOOL-9: each by itself, and all of them together; both are told."""
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
    source.change("t0")  # which makes place again
    tool = Tool(definition("new", inputSchema=schema))
    source.tools.append(tool)
    assert len(json.dumps(box.tools[-1])) > 10_000


async def test_what_is_not_for_models() -> None:
    """F-TOOL-9: the tools of an app's interface are neither shown, found nor called."""
    source = Live("shown")
    for name, visibility in (("app", ["app"]), ("none", []), ("both", ["model", "app"])):
        meta = {"ui": {"visibility": visibility, "resourceUri": "ui://x"}}
        source.tools.append(Tool(definition(name, _meta=meta)))
        source.behaviour[name] = None

    box = Toolbox(source, "openai_responses")
    assert names(box.tools) == ["shown", "both"]
    assert [str(problem) for problem in box.tools.problems] == [
        "app: left out: it is not for models",
        "none: left out: it is not for models",
    ]
    (said,) = texts(await box.run(response(call("app"))))
    assert said.startswith("Tool error: there is no tool 'app'")
    finding = Toolbox(source, "openai_responses", search=True)
    query = call("search_tools", '{"query": "app"}')
    (found,) = texts(await finding.run(response(query)))
    assert '"app"' not in found


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
    """F-TOOL-9: a timeout that is misspelt is no timeout."""
    box = await Toolbox(Source(a=None), "openai_responses")
    with pytest.raises(mcpclient.UsageError, match="did you mean 'timeout'"):
        await box.run(response(call("a")), tiemout=3)
    with pytest.raises(mcpclient.UsageError, match="did you mean 'timeout'"):
        await box.agent_tools[0].execute({}, tiemout=3)
    assert texts(await box.run(response(call("a")), timeout=3)) == ["a done"]


def len_of(word: str) -> int:
    """Count the letters."""
    return len(word)


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


def test_functions_stay_where_the_others_are_searched_for() -> None:
    """F-TOOL-9: and they have names of their own."""
    box = Toolbox(many(), "openai_responses", functions=[len_of], search=True)
    assert names(box.tools) == ["len_of", "search_tools", "call_tool"]

    def call_tool() -> None: ...

    for functions, search in (([len_of, len_of], False), ([call_tool], True)):
        with pytest.raises(mcpclient.UsageError, match="two tools have one name"):
            Toolbox(many(), "openai_responses", functions=functions, search=search)
    assert names(Toolbox(Live(), "openai_responses", functions=[call_tool]).tools) == ["call_tool"]


async def test_a_tool_that_was_not_found_yet_can_be_called() -> None:
    """F-TOOL-7: a model may remember a name from an earlier conversation."""
    box = Toolbox(many(), "openai_responses", search=True)
    assert texts(await box.run(response(call("tool_3")))) == ["tool_3 done"]


def test_deferred_tools() -> None:
    """F-TOOL-7: the provider's own search; the ready tools are there at once."""
    box = Toolbox(many(), "anthropic", defer=True, resources=True)
    assert [tool.get("defer_loading", False) for tool in box.tools[-3:]] == [True, False, False]
    assert box.tools[0]["type"] == "tool_search_tool_bm25_20251119"
    some = Toolbox(many(), "openai_responses", defer=lambda tool: tool.name == "send_mail").tools
    assert [tool["name"] for tool in some if tool.get("defer_loading")] == ["send_mail"]


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

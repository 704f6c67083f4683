"""The toolbox: live tools, all calls of a turn, and no call that loses another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.adapters.limits import Limits
from mcpclient.adapters.tool_calls import ToolCall
from mcpclient.adapters.toolbox import Toolbox, ToolboxOptions
from mcpclient.client.events.around import refusal
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.models import call, names, response, texts
from tests.client.inside import VERSIONS, Server, use
from tests.support.virtual_time import run

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
def test_a_turn(version: str) -> None:
    """F-TOOL-7, F-TOOL-2: definitions go out, calls come back, and answers are in their order."""
    server = server_of()

    async def work(client: mcpclient.Client) -> None:
        box = await made(client)
        assert names(box.tools) == ["echo", "files_delete", "slow"]
        turn = response(call("files_delete", '{"n": 1}'), call("echo", '{"n": 2}', "b"))
        messages = await box.run(turn)
        assert [message["call_id"] for message in messages] == ["id_files_delete", "b"]
        assert texts(messages) == ["files.delete {'n': 1}", "echo {'n': 2}"]

    use(server, work, version)


def test_a_call_that_is_cancelled_by_itself_is_one_answer_of_several() -> None:
    """F-TOOL-2: as by a hook of the program that gives up waiting for something."""
    server = server_of()

    async def around(call: Any, proceed: Any) -> Any:
        if call.name == "slow":
            raise asyncio.CancelledError
        return await proceed(call)

    async def work(client: mcpclient.Client) -> None:
        box = await made(client)
        messages = await box.run(response(call("slow"), call("echo")), around=[around])
        assert texts(messages)[1] == "echo {}"
        assert len(messages) == 2

    use(server, work, VERSIONS[0])


def test_a_toolbox_of_a_client_is_awaited() -> None:
    """F-TOOL-7: without it there are no tools, and the error says what to do."""
    server = server_of()

    async def work(client: mcpclient.Client) -> None:
        box = client.toolbox("anthropic")
        with pytest.raises(mcpclient.UsageError, match="is awaited"):
            box.tools  # noqa: B018
        assert await box is box
        assert len(box.tools) == 3

    use(server, work)


def test_running_is_enough_to_have_the_tools() -> None:
    """F-TOOL-7: a program that restarts in the middle of a conversation goes on."""
    server = server_of()

    async def work(client: mcpclient.Client) -> None:
        box = client.toolbox("openai_responses")
        assert texts(await box.run(response(call("echo")))) == ["echo {}"]

    use(server, work)


def test_what_a_model_gets_wrong_is_told_to_it() -> None:
    """F-TOOL-2: no exception, and the calls beside it are made."""
    server = server_of()

    async def work(client: mcpclient.Client) -> None:
        box = await made(client)
        turn = response(
            call("ecko"),
            call("echo", "{'n': 1}", "a"),
            call("echo", "[]", "b"),
            call("echo", "", "c"),
        )
        said = texts(await box.run(turn))
        assert said[0] == "Tool error: there is no tool 'ecko'; did you mean 'echo'?"
        assert said[1].startswith("Tool error: The arguments are not valid JSON: ")
        assert said[2] == "Tool error: The arguments are not a JSON object. Call again with one."
        assert said[3] == "echo {}"

    use(server, work)


def test_two_calls_with_one_id() -> None:
    """F-TOOL-2: the second is not made, and says so."""
    server = server_of()

    async def work(client: mcpclient.Client) -> None:
        box = await made(client)
        said = texts(await box.run(response(call("echo", "{}", "x"), call("slow", "{}", "x"))))
        assert said[0] == "echo {}"
        assert said[1].startswith("Tool error: Two calls have the id x; only the first was made.")
        assert len([asked for asked in server.asked if asked[0] == "tools/call"]) == 1

    use(server, work)


def test_ten_megabytes_of_arguments() -> None:
    """F-TOOL-2: they are handed on."""
    server = server_of(tools_call=lambda params: text(str(len(params["arguments"]["s"]))))

    async def work(client: mcpclient.Client) -> None:
        box = await made(client)
        huge = '{"s": "' + "x" * 10_000_000 + '"}'
        assert texts(await box.run(response(call("echo", huge)))) == ["10000000"]

    use(server, work)


class Source:
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

    async def read_resource(self, uri: str, /, **options: Any) -> mcpclient.ReadResourceResult:
        raise mcpclient.PeerError(-32002, "no such resource")


def test_one_bad_call_never_loses_the_others() -> None:
    """F-TOOL-2: of an exception that is not this library's, the model learns the type only."""
    timeout = mcpclient.CallTimeout("tools/call", 3.0, "idle")

    async def work() -> None:
        source = Source(
            good=None,
            gone=mcpclient.ConnectionLost("it ended"),
            slow=timeout,
            bad=KeyError("secret"),
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

    run(work())


def test_calls_run_side_by_side() -> None:
    """F-TOOL-2: each waits for the other, so one after the other they would never end."""

    async def work() -> None:
        first, second = asyncio.Event(), asyncio.Event()

        async def one() -> None:
            first.set()
            await second.wait()

        async def two() -> None:
            second.set()
            await first.wait()

        box = await Toolbox(Source(one=one(), two=two()), "openai_responses")
        assert texts(await box.run(response(call("one"), call("two")))) == ["one done", "two done"]

    run(work())


def test_cancelling_the_turn_cancels_all_of_its_calls() -> None:
    """F-TOOL-2."""

    async def work() -> None:
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

    run(work())


def test_what_is_no_response_is_an_error() -> None:
    """F-TOOL-2: that is the program's mistake, not the model's."""

    async def work() -> None:
        box = await Toolbox(Source(), "openai_responses")
        with pytest.raises(mcpclient.UsageError, match="it has no output"):
            await box.run({"choices": []})

    run(work())


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
def test_approval(answer: Any, said: str, is_async: bool) -> None:
    """F-TOOL-7: through the one hook around calls; only True allows."""
    server = server_of()
    asked: list[tuple[ToolCall, Tool]] = []

    async def later(one: ToolCall, tool: Tool) -> Any:
        asked.append((one, tool))
        return answer

    def at_once(one: ToolCall, tool: Tool) -> Any:
        asked.append((one, tool))
        return answer

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, approve=later if is_async else at_once)
        assert texts(await box.run(response(call("echo")))) == [said]
        ((one, tool),) = asked
        assert (one.name, one.arguments, tool.name) == ("echo", {}, "echo")
        made_calls = [method for method, _ in server.asked if method == "tools/call"]
        assert len(made_calls) == (answer is True)

    use(server, work)


def test_a_user_is_asked_one_question_at_a_time() -> None:
    """F-TOOL-7."""
    server = server_of()
    open_questions = []

    async def approve(one: ToolCall, tool: Tool) -> bool:
        open_questions.append(one.name)
        assert len(open_questions) == 1
        await asyncio.sleep(1)
        open_questions.remove(one.name)
        return True

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, approve=approve)
        said = texts(await box.run(response(call("slow"), call("echo"), call("files_delete"))))
        assert said == ["slow {}", "echo {}", "files.delete {}"]

    use(server, work)


def test_an_approval_that_fails_refuses() -> None:
    """F-TOOL-7: nothing is called because asking went wrong."""
    server = server_of()

    def approve(one: ToolCall, tool: Tool) -> bool:
        raise OSError("no terminal")

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, approve=approve)
        (said,) = texts(await box.run(response(call("echo"))))
        assert said == "Tool error: echo was not called: asking for approval failed (OSError)"
        assert "tools/call" not in dict(server.asked)

    use(server, work)


def test_hooks_given_with_the_turn_stand_around_the_approval() -> None:
    """F-TOOL-7, F-API-23."""
    server = server_of()

    async def no(wire: mcpclient.Call, proceed: Any) -> CallToolResult:
        return refusal("no")

    def never(one: ToolCall, tool: Tool) -> bool:
        raise AssertionError

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, approve=never)
        assert texts(await box.run(response(call("echo")), around=[no])) == ["Tool error: no"]

    use(server, work)


def test_include_and_exclude() -> None:
    """F-TOOL-7, F-MANY-13: a tool that is left out cannot be called either."""
    server = server_of()

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, include=["*o*", "files.*"], exclude=["*delete*"])
        assert names(box.tools) == ["echo", "slow"]
        (said,) = texts(await box.run(response(call("files_delete"))))
        assert said == "Tool error: there is no tool 'files_delete'"

    use(server, work)


def test_patterns_are_lists() -> None:
    with pytest.raises(mcpclient.UsageError, match=r"lists of patterns, not '\*'"):
        Toolbox(Source(), "google", include="*")


def test_an_unknown_provider() -> None:
    """F-TOOL-7."""
    with pytest.raises(
        mcpclient.UsageError, match="there is no provider 'openai'; did you mean 'openai_"
    ):
        Toolbox(Source(), "openai")


def test_limits_hold_for_the_results() -> None:
    """F-TOOL-8."""
    server = server_of(tools_call=lambda params: text("x" * 100 + "end"))

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, limits=Limits(max_chars=12))
        (said,) = texts(await box.run(response(call("echo"))))
        assert said == "xxxxxxxxx\n\n[… 91 characters left out …]\n\nend"

    use(server, work)


@pytest.mark.parametrize("version", VERSIONS)
def test_tools_that_change_are_listed_again(version: str) -> None:
    """F-TOOL-7, F-MANY-12: the list stays the same object."""
    listed = {"tools": [definition("echo")]}
    server = server_of(tools_list=lambda params: dict(listed))

    async def work(client: mcpclient.Client) -> None:
        box = await made(client)
        tools = box.tools
        listed["tools"] = [definition("new")]
        client._listed.notified("notifications/tools/list_changed", {})
        assert texts(await box.run(response(call("echo")))) == ["echo {}"]
        assert box.tools is tools
        assert names(tools) == ["new"]
        assert texts(await box.run(response(call("echo")))) == ["echo {}"]  # it was offered before

    use(server, work, version, cache=False)


def test_a_list_that_cannot_be_had_again_keeps_the_old_one() -> None:
    """F-TOOL-7: the answers of the turn are not lost for it."""

    async def work() -> None:
        source = Source(good=None)
        box = await Toolbox(source, "openai_responses")

        async def fail() -> list[Tool]:
            raise mcpclient.ConnectionLost("gone")

        source.list_tools = fail  # type: ignore[method-assign]
        source.tools_are_stale = True
        assert texts(await box.run(response(call("good")))) == ["good done"]
        assert names(box.tools) == ["good"]

    run(work())


class LiveTools(list[Tool]):
    version = 1


class Live(Source):
    """What a manager looks like: it keeps a list of tools itself."""

    def __init__(self, *names: str) -> None:
        super().__init__(**dict.fromkeys(names))
        self.tools = LiveTools(Tool(definition(name)) for name in names)


def test_the_live_list_of_a_manager() -> None:
    """F-TOOL-7, F-MANY-12: no waiting, and a new version is seen at once."""

    async def work() -> None:
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

    run(work())


RESOURCES = {
    "resources": [
        {"uri": "memo://1", "name": "first", "mimeType": "text/plain", "description": "a\nmemo"},
        {"uri": "memo://2", "name": "second"},
    ]
}


def test_the_two_resource_tools() -> None:
    """F-TOOL-5."""
    contents = {"contents": [{"uri": "memo://1", "text": "inside"}]}
    server = server_of(resources_list=RESOURCES, resources_read=contents)

    async def work(client: mcpclient.Client) -> None:
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

    use(server, work)


def test_a_resource_that_cannot_be_read_is_told() -> None:
    """F-TOOL-5."""

    async def work() -> None:
        box = await Toolbox(Source(), "openai_responses", resources=True)
        turn = response(call("list_resources"), call("read_resource", '{"uri": "x:"}'))
        assert texts(await box.run(turn)) == [
            "There are no resources.",
            "Tool error: the server answered with error -32002: no such resource",
        ]

    run(work())


def test_a_tool_of_the_server_keeps_its_name() -> None:
    """F-TOOL-5, F-MANY-11: the ready tools give way."""

    async def work() -> None:
        box = await Toolbox(Source(list_resources=None), "openai_responses", resources=True)
        assert names(box.tools) == ["list_resources", "list_resources_", "read_resource"]
        assert texts(await box.run(response(call("list_resources")))) == ["list_resources done"]

    run(work())


def many() -> Live:
    source = Live(*(f"tool_{number}" for number in range(30)))
    source.tools.append(Tool(definition("send_mail", description="Send a message to a person")))
    source.behaviour["send_mail"] = None
    return source


def test_search_in_place_of_many_tools() -> None:
    """F-TOOL-7, F-MANY-17: what was found can be called, and stays."""

    async def work() -> None:
        box = Toolbox(many(), "openai_responses", search=True)
        tools = box.tools
        assert names(tools) == ["search_tools"]
        (found,) = texts(await box.run(response(call("search_tools", '{"query": "message"}'))))
        assert found == (
            "These tools can be called from now on:\n- send_mail: Send a message to a person"
        )
        assert names(tools) == ["send_mail", "search_tools"]
        assert texts(await box.run(response(call("send_mail")))) == ["send_mail done"]
        nothing, wrong = texts(
            await box.run(
                response(
                    call("search_tools", '{"query": "zebra"}'), call("search_tools", "{}", "b")
                )
            )
        )
        assert nothing == "No tool fits. Try other words."
        assert wrong.startswith("Tool error: Give a query")

    run(work())


@pytest.mark.parametrize(("above", "shown"), [(30, 1), (31, 31)])
def test_search_only_above_a_number(above: int, shown: int) -> None:
    """F-TOOL-7."""
    assert len(Toolbox(many(), "openai_responses", search=above).tools) == shown


def test_a_tool_that_was_not_found_yet_can_be_called() -> None:
    """F-TOOL-7: a model may remember a name from an earlier conversation."""

    async def work() -> None:
        box = Toolbox(many(), "openai_responses", search=True)
        assert texts(await box.run(response(call("tool_3")))) == ["tool_3 done"]

    run(work())


def test_deferred_tools() -> None:
    """F-TOOL-7: the provider's own search; the ready tools are there at once."""
    box = Toolbox(many(), "anthropic", defer=True, resources=True)
    assert [tool.get("defer_loading", False) for tool in box.tools[-3:]] == [True, False, False]
    assert box.tools[0]["type"] == "tool_search_tool_bm25_20251119"
    some = Toolbox(many(), "openai_responses", defer=lambda tool: tool.name == "send_mail").tools
    assert [tool["name"] for tool in some if tool.get("defer_loading")] == ["send_mail"]


def test_the_options_have_types() -> None:
    """F-TOOL-7: a strict program sees what `toolbox` of a client takes."""
    import inspect

    parameters = list(inspect.signature(Toolbox.__init__).parameters)[3:]
    assert list(ToolboxOptions.__annotations__) == parameters


def test_tools_for_a_program_with_its_own_loop() -> None:
    """F-TOOL-1, F-TOOL-2: definition and execute, the ready tools among them."""
    server = server_of(resources_list=RESOURCES)

    async def work(client: mcpclient.Client) -> None:
        box = await made(client, resources=True, exclude=["slow"])
        tools = {tool.name: tool for tool in box.agent_tools}
        assert list(tools) == ["echo", "files_delete", "list_resources", "read_resource"]
        assert tools["files_delete"].definition["name"] == "files_delete"
        assert await tools["files_delete"].execute({"n": 1}) == "files.delete {'n': 1}"
        assert "memo://1" in await tools["list_resources"].execute(None)

    use(server, work)

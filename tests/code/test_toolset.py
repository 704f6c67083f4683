"""A toolbox in code mode: what the model sees, and what holds for calls of its code. F-CODE-1."""

from __future__ import annotations

import ast
import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import CodeMode, Limits, Sandbox, connect_all, sync
from mcpclient.adapters.definitions import ToolCall
from mcpclient.client.events.around import Call, Proceed
from mcpclient.code import toolset
from mcpclient.errors import UsageError
from mcpclient.protocol.types import CallToolResult, Tool
from mcpclient.sync.loop_thread import end_loop_thread
from tests.adapters.models import call, names, response, texts
from tests.code.coding import PREFIX, children, run_python
from tests.manager.fleet import Member, tool
from tests.net.process_helpers import until, wait_until

pytestmark = [pytest.mark.needs_landlock, pytest.mark.usefixtures("clean")]

SEARCH = tool(
    "search-issues",
    description="Find issues.",
    inputSchema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "words"},
            "from": {"type": "integer", "default": 1},
        },
        "required": ["query"],
    },
    outputSchema={
        "type": "object",
        "properties": {"total": {"type": "integer"}},
        "required": ["total"],
    },
)


class Issues(Member):
    """A server whose tool tells its arguments."""

    def __init__(self, *tools: Any) -> None:
        super().__init__(*(tools or (SEARCH, "close")))
        self.given: list[Any] = []

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        self.given.append(params.get("arguments"))
        if params["name"] == "search-issues":
            return {"content": [], "structuredContent": {"total": len(self.given)}}
        return super()._call(params)


async def searched(box: mcpclient.Toolbox, query: str) -> str:
    (found,) = texts(await box.run(response(call("search_tools", json.dumps({"query": query})))))
    return found


def test_two_tools_and_the_signatures_of_the_others() -> None:
    """F-CODE-1: as stubs have them, types included; functions of the user as well."""

    def count(words: list[str]) -> int:
        """Count words."""
        return len(words)

    async def main() -> None:
        async with connect_all({"git hub": Issues()}) as manager:
            box = manager.toolbox("openai_responses", functions=[count], code=CodeMode())
            assert names(box.tools) == ["search_tools", "run_python"]
            assert box.tools.tokens < 400
            assert "git hub" in box.tools[0]["description"]
            assert await searched(box, "issues") == (
                "Functions for run_python:\n"
                "class GitHubSearchIssuesResult(TypedDict):\n"
                '    """An object of GitHubSearchIssuesResult."""\n'
                "\n"
                "    total: int\n"
                "tools.git_hub.search_issues(query: str, from_: int = ...)"
                " -> GitHubSearchIssuesResult\n"
                '    """Find issues.\n'
                "\n"
                "    query: words\n"
                "    from_: Default: 1.\n"
                '    """'
            )
            assert "tools.count(words: list[str]) -> Any" in await searched(box, "count words")
            assert await searched(box, "zebra") == "No tool fits. Try other words."
            assert await run_python(box, "tools.count(words=['a', 'b'])") == "2\n"

    asyncio.run(main())


async def test_calls_reach_the_server_by_its_own_names() -> None:
    """F-CODE-1: data comes back, typed; text of a tool without a schema is JSON or text."""
    member = Issues()
    async with connect_all({"git hub": member}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        code = "first = tools.git_hub.search_issues(query='bug', from_=2)\nfirst['total']"
        assert await run_python(box, code) == "1\n"
        assert await run_python(box, "tools.git_hub.close()") == "close\n"
    assert member.given == [{"query": "bug", "from": 2}, {}]


@pytest.mark.slow
async def test_tools_show_what_there_is() -> None:
    """F-CODE-1: to dir, hasattr, help, print, in and brackets, as a model tries them."""
    code = """
print(dir(tools), dir(tools.git_hub), [*tools])
print(hasattr(tools, 'nope'), hasattr(tools.git_hub, 'close'), 'close' in tools.git_hub)
print(tools['git hub']['search-issues'](query='x'), 'search-issues' in tools['git hub'])
print(tools, tools.git_hub)
help(tools.git_hub.close)
help(len)
try: tools.git_hub.clos
except ToolError as error: print(error)
print(async_tools.git_hub.close)
tools.nope"""
    async with connect_all({"git hub": Issues()}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        said = await run_python(box, code)
    assert said.startswith(
        f"{PREFIX}['git_hub'] ['close', 'search_issues'] ['git_hub']\n"
        "False True True\n"
        "{'total': 1} True\n"
        "<tools: git_hub> <tools.git_hub: search_issues, close>\n"
        "tools.git_hub.close() -> Any\n"
        '    """The server does not describe it."""\n'
        "Help on built-in function len"
    )
    assert "there is no tool 'git_hub.clos'; did you mean 'git_hub.close'?" in said
    assert said.count("tools.git_hub.close() -> Any") == 2
    assert "NoSuchTool: there is no tool 'nope'" in said.splitlines()[-1]


async def test_a_client_has_its_tools_without_a_name_in_front() -> None:
    """F-CODE-1"""
    async with mcpclient.connect(Issues()) as client:
        box = await client.toolbox("openai_responses", code=CodeMode())
        assert await run_python(box, "tools.search_issues(query='x')") == "{'total': 1}\n"


@pytest.mark.slow
async def test_a_thousand_calls_and_many_at_once() -> None:
    """F-CODE-1: in a loop, by threads and by gather."""
    member = Issues()
    loop = "for n in range(1000): last = tools.a.search_issues(query='x')\nlast"
    gather = (
        "import asyncio\n"
        "async def one(n): return (await async_tools.a.search_issues(query=str(n)))['total']\n"
        "sum(await asyncio.gather(*map(one, range(100)))) > 0"
    )
    threads = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(16) as pool:\n"
        "    found = pool.map(lambda n: tools.a.search_issues(query=str(n)), range(100))\n"
        "len({each['total'] for each in found})"
    )
    async with connect_all({"a": member}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        assert await run_python(box, loop) == "{'total': 1000}\n"
        assert await run_python(box, gather) == "True\n"
        assert await run_python(box, threads) == "100\n"
    assert len(member.given) == 1200


@pytest.mark.slow
async def test_calls_wait_for_each_other_only_if_they_must() -> None:
    """F-CODE-1: calls of gather are under way at the same time."""
    under_way = most = 0

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.05)
        under_way -= 1
        return await proceed(call)

    code = "import asyncio\nlen(await asyncio.gather(*(async_tools.a.one() for n in range(100))))"
    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        assert await run_python(box, code, around=[around]) == "100\n"
    assert most == 32


@pytest.mark.slow
async def test_a_hundred_runs_in_one_response_take_turns() -> None:
    """F-CODE-1: each may use the memory of its sandbox."""
    most = 0

    async def around(one: Call, proceed: Proceed) -> CallToolResult:
        nonlocal most
        most = max(most, len(children()))
        return await proceed(one)

    before = len(children())
    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        code = json.dumps({"code": "tools.a.one()"})
        asked = response(*(call("run_python", code, f"id{n}") for n in range(12)))
        assert texts(await box.run(asked, around=[around])) == ["one\n"] * 12
    assert 1 < most - before <= 4


async def test_a_lock_file_holds_for_code(tmp_path: Path) -> None:
    """F-CODE-1: a tool that is not as it was locked is not called."""
    path = tmp_path / "lock.json"

    def servers(member: Member) -> dict[str, mcpclient.ServerConfig]:
        return {"a": mcpclient.ServerConfig("a", target=member, raw={"command": "a"})}

    changed = Member({**tool("one"), "description": "Other."}, "two")
    code = (
        "for name in ('one', 'two'):\n"
        "    try: print(getattr(tools.a, name)())\n"
        "    except ToolError as error: print('refused')"
    )
    async with connect_all(servers(Member("one", "two"))) as manager:
        manager.lock(mcpclient.Pins(path))
    pins = mcpclient.Pins(path, mode="refuse")
    async with connect_all(servers(changed), pins=pins) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        assert await run_python(box, code) == "refused\ntwo\n"
    assert changed.calls == ["two"]


async def test_a_user_who_refuses_in_the_middle() -> None:
    """F-CODE-1: each run and each call of it is asked for; what is refused raises."""
    asked: list[tuple[str, str]] = []

    def approve(one: ToolCall, tool: Tool) -> bool | str:
        asked.append((one.called_as, tool.name))
        return "not twice" if len(asked) == 3 else True

    code = (
        "print(tools.a.one())\n"
        "try: tools.a.one()\n"
        "except ToolError as error: print(error)\n"
        "print(tools.a.one())"
    )
    member = Member("one")
    async with connect_all({"a": member}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode(), approve=approve)
        assert await run_python(box, code) == "one\na__one was not called: not twice\none\n"
    assert asked == [("run_python", "run_python"), *[("a__one", "a__one")] * 3]
    assert member.calls == ["one", "one"]


async def test_filters_hooks_and_options_hold() -> None:
    """F-CODE-1: as for a call that the model makes itself."""
    seen: list[tuple[str, str, Any]] = []

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append((call.server, call.name, call.trace))
        return await proceed(call)

    member = Member("one", "two", {**tool("app"), "_meta": {"ui": {"visibility": ["app"]}}})
    code = (
        "for name in ('two', 'app', 'one'):\n"
        "    try: print(getattr(tools.a, name)())\n"
        "    except ToolError as error: print(error)"
    )
    async with connect_all({"a": member}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode(), exclude=["two"])
        output = await run_python(box, code, around=[around], trace="t")
        assert output == (
            "there is no tool 'a.two'; did you mean 'a.one'?\nthere is no tool 'a.app'\none\n"
        )
    assert seen == [("a", "one", "t")]
    assert member.calls == ["one"]


async def test_progress_reaches_the_caller() -> None:
    """F-CODE-1"""
    heard: list[Any] = []
    async with mcpclient.connect(demo()) as client:
        box = await client.toolbox("openai_responses", code=CodeMode())
        code = "tools.count(to=2, seconds=0)"
        await run_python(box, code, on_progress=lambda progress: heard.append(progress))
    assert heard


def demo() -> list[str]:
    import sys

    path = Path(mcpclient.__file__).parent / "testing" / "demo_server.py"
    return [sys.executable, str(path)]


async def test_a_server_that_dies_in_the_middle() -> None:
    """F-CODE-1: its calls raise, and the code goes on."""
    code = (
        "print(tools.a.one())\n"
        "for n in range(3):\n"
        "    try: print(tools.b.two())\n"
        "    except ToolError as error: print('failed')\n"
        "print(tools.a.one())"
    )
    members = {"a": Member("one"), "b": Member("two")}
    calls = 0
    async with connect_all(members, reconnect=None) as manager:

        async def around(call: Call, proceed: Proceed) -> CallToolResult:
            nonlocal calls
            calls += call.server == "b"
            if calls == 2:
                members["b"].script.lose()
            return await proceed(call)

        box = manager.toolbox("openai_responses", code=CodeMode())
        output = await run_python(box, code, around=[around])
        assert output == "one\ntwo\nfailed\nfailed\none\n"


async def test_cancelling_ends_the_run_and_its_calls() -> None:
    """F-CODE-1"""
    ends: list[str] = []
    started = asyncio.Event()

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ends.append("cancelled")
        return await proceed(call)

    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        task = asyncio.ensure_future(run_python(box, "tools.a.one()", around=[around]))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ends == ["cancelled"]


@pytest.mark.slow
async def test_long_output_is_cut_and_results_are_whole() -> None:
    """F-CODE-1: the model gets what `Limits` allow; its code gets results as they are."""
    long = {**tool("long")}
    answer = {"content": [{"type": "text", "text": "x" * 50_000}]}
    member = Member(long, answers={"tools/call": lambda params: answer})
    async with connect_all({"a": member}) as manager:
        limits = Limits(max_chars=100)
        box = manager.toolbox("openai_responses", code=CodeMode(), limits=limits)
        assert await run_python(box, "len(tools.a.long())") == "50000\n"
        output = await run_python(box, "tools.a.long()")
        assert "49,901 characters left out" in output


@pytest.mark.slow
async def test_media_are_a_note_for_code() -> None:
    """F-CODE-1"""
    image = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
    member = Member("shot", answers={"tools/call": lambda params: {"content": [image]}})
    async with connect_all({"a": member}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        assert await run_python(box, "tools.a.shot()") == "[image, image/png, 8 bytes]\n"


@pytest.mark.slow
async def test_variables_are_kept_on_request() -> None:
    """F-CODE-1: one process, which ends with the box."""
    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode(keep=True, seconds=1))
        assert "Variables are kept" in box.tools[1]["description"]
        assert await run_python(box, "import os\nx = 1\np = os.getpid()") == "[no output]"
        both = await asyncio.gather(run_python(box, "x += 1"), run_python(box, "x += 1"))
        assert list(both) == ["[no output]"] * 2
        assert await run_python(box, "x, p == os.getpid()") == "(3, True)\n"
        assert (await run_python(box, "y")).startswith(PREFIX)
        assert await run_python(box, "x") == "3\n"  # a mistake costs nothing
        lost = await run_python(box, "while True: pass")
        assert lost.endswith("\nThe variables are lost; the next run starts anew.")
        assert "name 'x' is not defined" in await run_python(box, "x")
        await box.close()
        await box.close()
        assert await run_python(box, "1") == "1\n"
        await box.close()


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("is_told", [True, False])
async def test_closing_ends_a_run(is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-CODE-1: it has a result all the same, whether the transport reports the end or not."""
    if not is_told:
        monkeypatch.setattr(toolset.CodeProcess, "connection_lost", lambda process, error: None)

    started = asyncio.Event()

    async def around(one: Call, proceed: Proceed) -> CallToolResult:
        started.set()
        return await proceed(one)

    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode(keep=True))
        code = "tools.a.one()\nimport time\ntime.sleep(600)"
        running = asyncio.ensure_future(run_python(box, code, around=[around]))
        await started.wait()
        await box.close()
        assert "Python ended before the code did" in await running


@pytest.mark.slow
async def test_threads_that_go_on_after_a_run_call_nothing(tmp_path: Path) -> None:
    """F-CODE-1: a kept process has no turn of the model then; its calls are answered so."""
    member = Member("one", "two")
    code = (
        "import tempfile, threading\n"
        "errors, done = [], threading.Event()\n"
        "def later():\n"
        "    for n in range(40):\n"
        "        try: tools.a.two()\n"
        "        except ToolError as error: errors.append(str(error))\n"
        "    open(tempfile.gettempdir() + '/called', 'w').close()\n"
        "    done.set()\n"
        "real = tools._call.__self__.send\n"
        "def send(**message):\n"
        "    real(**message)\n"
        "    if 'result' in message: threading.Thread(target=later, daemon=True).start()\n"
        "tools._call.__self__.send = send"
    )
    async with connect_all({"a": member}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode(keep=True))
        await run_python(box, code)
        await until(lambda: any(tmp_path.rglob("called")), "it has called")
        code_after = "tools._call.__self__.send = real\ndone.wait()\nset(errors)"
        assert await run_python(box, code_after) == "{'the run is over'}\n"
        assert await run_python(box, "tools.a.one()") == "one\n"
        await box.close()
    assert member.calls == ["one"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "flood", ["print('x' * 100_000, flush=True)", "host.send(method='x')", "os.close(host._output)"]
)
async def test_a_process_that_floods_between_two_runs_is_ended(flood: str) -> None:
    """F-CODE-1: the next run has another one."""
    code = (
        "import os, threading\n"
        "host = tools._call.__self__\n"
        "real = host.send\n"
        "def later():\n"
        f"    while True: {flood}\n"
        "def send(**message):\n"
        "    real(**message)\n"
        "    if 'result' in message: threading.Thread(target=later, daemon=True).start()\n"
        "host.send = send"
    )
    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode(keep=True))
        before = children()
        await run_python(box, code)
        await until(lambda: children() <= before, "it is ended")
        assert "NameError" in await run_python(box, "host")
        await box.close()


def test_a_kept_process_ends_with_its_box() -> None:
    """F-CODE-1: also if it is not closed, and when the event loop has ended."""
    before = children()

    async def main(box: mcpclient.Toolbox | None) -> mcpclient.Toolbox:
        async with connect_all({"a": Member("one")}) as manager:
            box = box or manager.toolbox("openai_responses", code=CodeMode(keep=True))
            assert await run_python(box, "2") == "2\n"
            return box

    box = asyncio.run(main(None))
    assert children() > before
    del box
    gc.collect()
    wait_until(lambda: children() <= before, "the process has ended")


@pytest.mark.slow
def test_another_event_loop_has_another_process() -> None:
    """F-CODE-1"""
    made: list[mcpclient.Toolbox] = []

    async def main() -> None:
        async with mcpclient.connect(Member("one")) as client:
            if not made:
                made.append(await client.toolbox("openai_responses", code=CodeMode(keep=True)))
            assert await run_python(made[0], "2") == "2\n"

    asyncio.run(main())
    asyncio.run(main())
    asyncio.run(made[0].close())


@pytest.mark.slow
async def test_names_that_are_alike_and_names_that_are_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-CODE-1: each tool keeps one path, whatever comes or goes."""
    alike = ["a-b", "a_b", "a b", "class", "x" * 100, "x" * 101, "1", "_", "a.b", "list"]
    member = Member(*alike)
    async with connect_all({"s-t": member, "s_t": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", code=CodeMode())
        found = await searched(box, " ".join(alike))
        assert "tools.s_t." in found
        before = await paths_of(box)
        assert len(before) == len(alike) + 1
        assert all(part.isidentifier() for path in before for part in path.split("."))
        await manager.add("s:t", Member("a:b", "a_b"))
        assert before.items() < (await paths_of(box)).items()
        monkeypatch.setattr(toolset, "_MAX_PATHS", 3)
        await manager.remove("s-t")
        assert "s_t.one" in await paths_of(box)  # as if it had never had a longer name
        assert len(await paths_of(box)) == 3


async def paths_of(box: mcpclient.Toolbox) -> dict[str, str]:
    """Return the name of each tool by the path of its function."""
    code = (
        "{f'{server}.{path}': str(getattr(getattr(tools, server), path)())"
        " for server in dir(tools) for path in dir(getattr(tools, server))}"
    )
    found: dict[str, str] = ast.literal_eval(await run_python(box, code))
    return found


async def test_what_does_not_go_together() -> None:
    """F-CODE-1"""
    async with connect_all({"a": Member("one")}) as manager:
        with pytest.raises(UsageError, match="leave search= out"):
            manager.toolbox("anthropic", code=CodeMode(), search=True)

        def run_python() -> None: ...

        with pytest.raises(UsageError, match="two tools have one name"):
            manager.toolbox("anthropic", code=CodeMode(), functions=[run_python])


@pytest.mark.slow
def test_the_blocking_twin(request: pytest.FixtureRequest) -> None:
    """F-CODE-1: a toolbox of a plain program has it as well."""
    asked: list[str] = []

    def approve(one: ToolCall, tool: Tool) -> bool:
        asked.append(one.name)
        return True

    request.addfinalizer(end_loop_thread)
    with sync.connect(demo()) as client:
        mode = CodeMode(Sandbox(memory="256M"), keep=True)
        box = client.toolbox("openai_responses", code=mode, approve=approve)
        arguments = json.dumps({"code": "tools.add(a=1, b=2)['sum']"})
        assert texts(box.run(response(call("run_python", arguments)))) == ["3\n"]
        box.close()
    assert asked == ["run_python", "add"]

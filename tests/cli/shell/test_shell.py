"""The shell as a whole, on a server in this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from mcpclient.cli.shell.shell import Shell, history_file
from mcpclient.net.user_folders import state_folder
from tests.cli.in_process import ServerInProcess
from tests.cli.shell.in_shell import Typed, in_shell
from tests.support.properties import examples

PIXEL = "[demo://pixel, image/png, 70 bytes]"


async def test_a_tools_name_is_a_command() -> None:
    """F-SHOW-5: its result is `_`, and parts of it can be looked at."""
    async with in_shell() as world:
        texts = await world.run(
            'echo message="hi there"', "_.text", "add a=1 b=2", '_.structured["sum"]', "_.is_error"
        )
        assert texts == ["hi there", "hi there", "3", "3", "false"]
        assert await world.run("call echo message=call", "demo.echo message=dot") == ["call", "dot"]
        assert json.loads((await world.run("_"))[0])["content"][0]["text"] == "dot"


async def test_what_a_server_offers() -> None:
    """F-SHOW-5, F-SHOW-1: the commands of the command line, on the server in use."""
    async with in_shell() as world:
        assert "count" in (await world.run("tools"))[0]
        assert "echo" in (await world.run("tools *ec*"))[0]
        (told,) = await world.run("tool echo")
        assert "echo message=" in told and await world.run("tools echo") == [told]
        assert "demo-server" in (await world.run("info"))[0]
        assert "demo://readme" in (await world.run("resources"))[0]
        assert (await world.run("read demo://readme", "_.text"))[1].startswith("This text")
        assert await world.run("read demo://pixel", "_.data") == [PIXEL, "70 bytes"]
        assert "haiku" in (await world.run("prompts"))[0]
        assert "haiku about rain" in (await world.run("prompt haiku topic=rain"))[0]
        assert await world.run("_.messages[0].role") == ["user"]
        assert await world.run("complete haiku mood ch") == ["cheerful"]
        assert "ms" in (await world.run("ping"))[0]
        assert (await world.run("help"))[0].count("\n") > 20
        assert "fail unless" in (await world.run("help expect"))[0]
        assert "demo" in (await world.run("servers"))[0]


async def test_failures_have_the_exit_codes_of_the_command_line() -> None:
    """F-SHOW-5, F-SHOW-2: 1 a tool failed, 2 usage, 5 the server refused."""
    async with in_shell() as world:
        assert await world.fail("fail reason='no paper'") == (1, "no paper")
        assert (await world.run("_.is_error")) == ["true"]
        assert (await world.fail("fail reason="))[1] == "the tool failed without a message"
        for line, problem in (
            ("echoo message=hi", "did you mean 'echo'?"),
            ("demo.ecko", "did you mean 'demo.echo'?"),
            ("exspect text", "did you mean 'expect'?"),
            ("echo 'hi", "is not closed"),
            ("echo -", "come from stdin; write the arguments, or @FILE"),
            ("use nowhere", "there is no server 'nowhere'"),
            ("use", "usage: use SERVER"),
            ("expect", "usage: expect [not] PATH"),
            ("servers now", "usage: servers"),
            ("help ecpect", "did you mean 'expect'?"),
            ("cancel 7", "there is no call '7'"),
            ("wait x", "there is no call 'x'"),
            ("_ text", "nothing may follow _"),
            ("call", "usage: call"),
            ("tools ecko", "did you mean 'echo'?"),
        ):
            code, text = await world.fail(line)
            assert (code, problem in text) == (2, True), (line, text)
        assert (await world.fail("read demo://nothing"))[0] == 5


async def test_nothing_is_there_before_the_first_result() -> None:
    """F-SHOW-5"""
    async with in_shell() as world:
        assert "no result yet" in (await world.fail("_.text"))[1]
        assert "no result yet" in (await world.fail("expect text"))[1]


async def test_calls_in_the_background() -> None:
    """F-SHOW-5: by number; their end is reported; one can be cancelled, and its result taken."""
    async with in_shell(lines=Typed([], is_interactive=True)) as world:
        assert await world.run("count to=2 seconds=0 &") == ["[1]"]
        assert await world.run("wait 1", "_.text") == ["1 2", "1 2"]
        assert "[1] count to=2 seconds=0 &: 1 2" in world.errors.getvalue()
        await world.run("count to=100 seconds=100 &", "echo message=meanwhile")
        assert "2     running  count" in (await world.run("jobs"))[0]
        await world.run("cancel 2")
        assert "2     cancelled" in (await world.run("jobs"))[0]
        assert "has ended" in (await world.fail("cancel 2"))[1]
        assert "was cancelled" in (await world.fail("wait 2"))[1]
        await world.run("nope password=hunter2 &", "wait")
        assert "no command or tool 'nope'" in (await world.fail("wait 3"))[1]
        assert "hunter2" not in world.errors.getvalue()
        await world.run("wait &", "wait 5 &", "wait")
        assert "cannot wait for itself" in world.errors.getvalue()
        await world.run("count to=100 seconds=100 &")
        assert await world.shell.run() == 0


async def test_calls_that_have_ended_are_listed_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-SHOW-5: and those that run for as long as they do."""
    monkeypatch.setattr("mcpclient.cli.shell.commands._MAX_ENDED", 1)
    async with in_shell() as world:
        await world.run("count to=100 seconds=100 &", "echo message=a &", "wait 2")
        await world.run("echo message=b &", "wait 3", "echo message=c &", "wait 4")
        (listed,) = await world.run("jobs")
        assert [line.split()[:2] for line in listed.splitlines()[1:]] == [
            *(["1", "running"], ["3", "done"], ["4", "done"])
        ]
        await world.run("cancel 1")


async def test_several_servers() -> None:
    """F-SHOW-5, F-MANY-1: one is in use, and tools of others are called across."""
    async with in_shell(servers={"one": ServerInProcess(), "two": ServerInProcess()}) as world:
        assert "one *" in (await world.run("servers"))[0]
        assert await world.run("two.echo message=hi", "use two", "one.echo message=ho") == [
            *("hi", "", "ho")
        ]
        assert "two *" in (await world.run("servers"))[0]
        assert "did you mean 'one.echo'?" in (await world.fail("one.ecko"))[1]
        assert world.shell.complete("one.ec", 6) == ["one.echo "]


async def test_without_a_server() -> None:
    """F-SHOW-5"""
    async with in_shell(servers={}) as world:
        assert (await world.fail("tools"))[0] == 2
        assert "there is no server" in (await world.fail("echo"))[1]
        assert world.shell.complete("to", 2)
        assert await world.shell.run() == 0


async def test_a_script_stops_at_its_first_failure() -> None:
    """F-SHOW-5: with the exit code and the number of the line."""
    lines = Typed(["# smoke", "echo message=hi", "expect text == ho", "echo message=never"])

    async with in_shell(lines=lines) as world:
        assert await world.shell.run() == 1
        assert world.out.getvalue() == "hi\n"
        said = 'line 3: expect text == ho\nexpected text == ho, and text is "hi"\n'
        assert world.errors.getvalue() == said


async def test_a_script_that_goes_well() -> None:
    """F-SHOW-5: `quit` ends it; what is in the background is waited for."""
    async with in_shell(lines=Typed(["count to=3 seconds=0 &"])) as world:
        assert await world.shell.run() == 0
        assert world.out.getvalue() == "[1]\n"
        assert "1 2 3" in world.errors.getvalue()

    async with in_shell(lines=Typed(["quit", "echo message=never"])) as world:
        assert await world.shell.run() == 0
        assert world.out.getvalue() == ""

    async with in_shell(lines=Typed(["nope &"])) as world:
        assert await world.shell.run() == 2


class Unusual(BaseException):
    """An error that is not even an `Exception`."""


@pytest.mark.parametrize("kind", [ValueError, Unusual])
async def test_any_error_is_a_failure_of_the_call_in_the_background(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-5: also one of a hook that is none of the library's; the shell goes on."""

    async def fail(*_: object) -> None:
        raise kind("no\x1b[2J")

    monkeypatch.setattr("mcpclient.cli.shell.shell.call_tool", fail)

    async with in_shell(lines=Typed(["echo message=hi &"])) as world:
        assert await world.run("echo message=hi &", "wait") == ["[1]", ""]
        said = f"[1] echo message=hi &: error: {kind.__name__}: no"
        assert said in world.errors.getvalue()
        assert "\x1b" not in world.errors.getvalue()
        code, text = await world.fail("wait 1")
        assert (code, f"call 1 ended with {kind.__name__}: no" in text) == (2, True)
        assert await world.shell.run() == 1


async def test_any_error_is_a_failure_of_the_call_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-5: one message, and whoever types goes on."""

    async def fail(*_: object) -> None:
        raise ValueError("no\x1b[2J")

    monkeypatch.setattr("mcpclient.cli.shell.shell.call_tool", fail)
    lines = Typed(["echo message=hi", "server"], is_interactive=True)

    async with in_shell(lines=lines) as world:
        assert await world.shell.run() == 0
        assert world.errors.getvalue().count("error: ValueError: no") == 1
        assert "\x1b" not in world.errors.getvalue()
        assert len(lines.prompts) == 3


@pytest.mark.needs_posix
async def test_ctrl_c_cancels_the_call_in_front_only() -> None:
    """F-SHOW-5: what is in the background goes on; at the prompt the line is begun anew."""

    class Pressed(Typed):
        async def read(self, prompt: str) -> str | None:
            line = await super().read(prompt)
            if line is None:
                signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(0.01)
            return line

    typed = ["count to=100 seconds=100 &", "count to=99 seconds=1", "jobs"]
    lines = Pressed(typed, is_interactive=True)
    async with in_shell(lines=lines) as world:
        press = lambda progress: signal.raise_signal(signal.SIGINT)  # noqa: E731
        world.screen.status.update = press  # type: ignore[method-assign]
        assert await world.shell.run() == 0
        assert "cancelled\n" in world.errors.getvalue()
        assert "running" in world.out.getvalue()
        assert lines.interrupted == 1


async def test_text_of_a_server_is_escaped() -> None:
    """F-SHOW-5, F-SHOW-3"""
    result = {"content": [{"type": "text", "text": "\x1b[2Jhi"}]}

    async with in_shell(answers={"tools/call": result}) as world:
        texts = await world.run("echo message=x", "_.text", "_.content[0].raw.text", "_")
        assert all("\x1b" not in text and "hi" in text for text in texts)


COMMANDS = (
    "echo add fail tools tool use expect _ _.text jobs cancel wait servers help read "
    "prompt prompts complete resources info call demo.echo"
)
WORDS = (
    "message=hi a=1 b=2 { [ ' \" \\ && _ _.content[0].text == contains off 1 x demo -h --json "
    "demo://readme haiku topic=x & # \x00 é \ud800 := = @ @nothing -"
)
COMMAND = st.sampled_from(COMMANDS.split(" "))
WORD = st.sampled_from(WORDS.split(" ")) | st.text(max_size=5)


async def test_arguments_do_not_come_from_where_the_lines_come() -> None:
    """F-SHOW-5: else they would be the lines that follow."""
    async with in_shell() as world:
        for line in ("echo -", "prompt haiku -", "complete haiku mood c -"):
            assert "come from stdin" in (await world.fail(line))[1]
        await world.run("complete haiku mood -")


async def test_no_line_crashes_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-5: whatever is typed, the outcome has output and an exit code."""
    monkeypatch.chdir(tmp_path)

    async with in_shell(lines=Typed([], is_interactive=True)) as world:
        loop = asyncio.get_running_loop()

        @examples(60, suppress_health_check=list(HealthCheck))
        @given(COMMAND, st.lists(WORD, max_size=5))
        def check(command: str, words: list[str]) -> None:
            line = " ".join([command, *words])
            outcome = asyncio.run_coroutine_threadsafe(world.shell.run_line(line), loop).result(20)
            assert isinstance(outcome.exit_code, int) and isinstance(outcome.text, str)
            world.shell.complete(line, len(line))

        await loop.run_in_executor(None, check)
        await world.shell.run()  # its end cancels calls in the background


# A password at the wrong prompt, and calls of tools whose secrets are not known.
UNKNOWN_LINES = [
    *("hunter2", "adde pin=hunter2", "call adde pin=hunter2", "call help hunter2"),
    *("other.add hunter2", "'hunter2"),
]


async def test_the_history_is_kept_for_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-5, F-SAFE-6: the history is a file of this user; it has no secrets."""
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    typed = ["echo message=hi", "add password=hunter2 a=1", *UNKNOWN_LINES, "help", "_ "]
    lines = Typed(typed, is_interactive=True)

    async with in_shell() as world:
        shell = Shell(world.manager, world.screen, lines=lines, history=history_file())
        assert await shell.run() == 0
        kept = (state_folder(os.environ) / "shell_history").read_text()
        assert kept == "echo message=hi\nadd password= a=1\nhelp\n_\n"

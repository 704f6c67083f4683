"""The process that runs a model's code: what comes out of it, and what does not. F-CODE-1."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpclient import CodeMode, Sandbox, connect_all
from mcpclient.code import toolset
from mcpclient.code.toolset import CodeProcess
from mcpclient.errors import SandboxUnavailable, UsageError
from mcpclient.sandbox import confine
from tests.code.coding import PREFIX, run_python
from tests.code.escapes import ESCAPES, FORGERIES, ONLY_CONFINED
from tests.manager.fleet import Member
from tests.support.tables import check_each

confined = pytest.mark.needs_landlock


async def no_tools(path: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every path leads to a tool, and each call fails."""
    return {"value": f"tools.{path}()"} if arguments is None else {"error": f"no {path}"}


def ran(code: str, answer: toolset.Answer = no_tools, **mode: Any) -> tuple[str, bool]:
    return asyncio.run(run_each([code], answer, **mode))[code]


async def run_each(
    codes: Iterable[str], answer: toolset.Answer = no_tools, **mode: Any
) -> dict[str, tuple[str, bool]]:
    """Run one after the other, in one process with ``keep``; return what each gave."""
    process = CodeProcess(CodeMode(**mode))
    try:
        return {code: await process.run(code, answer) for code in codes}
    finally:
        await process.close()


GIVEN = {
    "1 + 1": "2\n",
    "print('a', 'b')\n'as it is: é'": "a b\nas it is: é\n",
    "x = 1": "",
    "": "",
    "None": "",
    "import sys\nprint('err', file=sys.stderr)": "err\n",
    "import sys\nsys.stdout.buffer.write('é'.encode())\nsys.exit(0)": "é",
    "print('\\ud800')": "?\n",
    "import os\nos.read(0, 9)": "b''\n",
    "__name__": "__main__\n",
    "print('a')\nexit()\nprint('b')": "a\n",
    "import os, sys\nprint('a')\nos.system('echo b; echo c >&2')\nprint('d')": "a\nb\nc\nd\n",
    "import subprocess\nsubprocess.run(['echo', 'x' * 100_000])\nNone": "x" * 100_000 + "\n",
    "class A: pass\nimport pickle\ntype(pickle.loads(pickle.dumps(A()))) is A": "True\n",
    "print(tools['a'].b)": "tools.a.b()\n",
    "import asyncio\nawait asyncio.sleep(0, 'waited')": "waited\n",
    "import asyncio\nasync def f(): return 5\nasyncio.run(f())": "5\n",
    "open('note', 'w').write('kept')\nopen('note').read()": "kept\n",
}


@confined
def test_what_code_gives(clean: None) -> None:
    """F-CODE-1: what it prints, and its last expression."""
    given = asyncio.run(run_each(GIVEN, keep=True))

    def check(code: str) -> None:
        assert given[code] == (GIVEN[code], False)

    check_each(GIVEN, check)


RAISED = {
    "input()": "EOFError: EOF when reading a line",
    "print('so far')\n1 / 0": "ZeroDivisionError: division by zero",
    "def f(:": "SyntaxError: invalid syntax",
    "tools.shop['buy']({'x': 1})": "ToolError: no shop.buy",
    "import sys\nsys.exit('bye')": "SystemExit: bye",
    "def f(): f()\nf()": "RecursionError: maximum recursion depth exceeded",
    "tools.shop.buy(1)": "TypeError: name the arguments: tools.shop.buy(name=value)",
    "tools.shop.buy(x={1})": "TypeError: Object of type set is not JSON serializable",
    "tools.shop.buy(x=1)": "ToolError: no shop.buy",
    "await async_tools.shop.buy(x=1)": "ToolError: no shop.buy",
    "raise BaseException('all')": "BaseException: all",
    "tools._secret": "AttributeError: _secret",
}


@confined
def test_an_exception_is_its_last_lines(clean: None) -> None:
    """F-CODE-1: the frames of the model's code, without the program around it."""
    raised = asyncio.run(run_each(RAISED, keep=True))

    def check(code: str) -> None:
        text, failed = raised[code]
        lines = text.rstrip().splitlines()
        assert failed
        assert RAISED[code] in "\n".join(lines[-9:])  # Python 3.14 adds which value it was
        assert len(lines) < 45
        assert '"<string>"' not in text and "ast.py" not in text
        assert not code.startswith("print") or lines[0] == "so far"

    check_each(RAISED, check)


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The targets of hostile code."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("s3cret")
    monkeypatch.setenv("HOST_TOKEN", "s3cret")
    read, write = os.pipe()
    os.set_inheritable(write, True)
    victim = subprocess.Popen(["sleep", "600"], env={"TOKEN": "s3cret"})
    sockets = Path("/tmp", f"mcpclient-test-{os.urandom(6).hex()}")
    sockets.mkdir()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        unix.bind(str(sockets / "s"))
        abstract.bind("\0" + sockets.name)
        unix.listen()
        abstract.listen()
        yield {
            "SECRET": str(outside / "key"),
            "OUTSIDE": str(outside),
            "HOST": os.getpid(),
            "VICTIM": victim.pid,
            "PORT": server.getsockname()[1],
            "UNIX": str(sockets / "s"),
            "ABSTRACT": sockets.name,
            "DESCRIPTOR": write,
            "DONE": "it got out",
            "HOME": os.path.expanduser("~"),
        }
    victim.kill()
    victim.wait()
    os.close(read)
    os.close(write)
    shutil.rmtree(sockets)


def with_facts(facts: Mapping[str, Any], code: str) -> str:
    return "".join(f"{name} = {value!r}\n" for name, value in facts.items()) + code


@confined
def test_hostile_code_does_not_get_out(facts: dict[str, Any]) -> None:
    """F-CODE-1"""
    outside = Path(facts["OUTSIDE"])
    codes = {name: with_facts(facts, code) for name, code in ESCAPES.items()}
    given = asyncio.run(run_each(codes.values(), keep=True))

    def check(name: str) -> None:
        text = given[codes[name]][0]
        assert "it got out" not in text and "s3cret" not in text, text

    check_each(codes, check)
    assert [each.name for each in outside.iterdir()] == ["key"]
    assert (outside / "key").read_text() == "s3cret"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ESCAPES if name not in ONLY_CONFINED])
@confined
def test_without_a_sandbox_it_does(name: str, facts: dict[str, Any], tmp_path: Path) -> None:
    """F-CODE-1: the denials above are the sandbox's."""
    words = [sys.executable, "-c", with_facts(facts, ESCAPES[name])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "it got out" in done.stdout, done.stderr


NAMES: list[Any] = [*FORGERIES]


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize("name", NAMES)
@confined
async def test_messages_that_the_program_does_not_send(name: str, clean: None) -> None:
    """F-CODE-1: they reach no tool that the model could not call, and hold nothing up."""
    code, said = FORGERIES[name]
    member = Member("buy", "hidden", "wait")
    answered = member.script.answers["tools/call"]
    assert callable(answered)
    # The tool "wait" has no answer.
    member.script.answers["tools/call"] = lambda params: (
        None if params["name"] == "wait" else answered(params)
    )
    async with connect_all({"shop": member}) as manager:
        mode = CodeMode(seconds=1 if "1 seconds" in said else 60)
        box = manager.toolbox("openai_responses", exclude=["hidden"], code=mode)
        output = await run_python(box, code)
        assert output.startswith(PREFIX)
        assert said in output
    assert "hidden" not in member.calls


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import time\ntime.sleep(60)", "The run took more than 0.5 seconds and was ended."),
        ("while True: pass", "The run took more than 0.5 seconds and was ended."),
        (
            "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nimport os\n"
            "os.close(tools._call.__self__._input)\ntime.sleep(60)",
            "The run took more than 0.5 seconds and was ended.",
        ),
        (
            "while True: print('x' * 100_000)",
            "The run printed more than 10,000,000 characters and was ended.",
        ),
        ("x = bytearray(2 * 10 ** 9)", "MemoryError"),
        ("x = [bytearray(10 ** 8) for _ in range(9)]\nimport time; time.sleep(9)", "memory"),
        ("10 ** 10 ** 9", "The run took more than 0.5 seconds and was ended."),
        ("import os\nwhile True: os.fork()", "it had more than 32 processes"),
    ],
)
@confined
def test_code_without_an_end(code: str, said: str, clean: None) -> None:
    """F-CODE-1: time, output, processes and memory are limited."""
    finished = ran(code, seconds=0.5 if "0.5" in said else 60)
    assert finished[1]
    assert said in finished[0]


@pytest.mark.slow
@confined
def test_processes_do_not_outlive_the_run(clean: None) -> None:
    """F-CODE-1: neither processes of another session, nor orphans."""
    name = f"31.{os.getpid()}"
    code = (
        "import os, subprocess, warnings\n"
        "warnings.simplefilter('ignore')\n"  # Python 3.12 warns of a fork beside threads
        f"subprocess.Popen(['/bin/sleep', '{name}'], start_new_session=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        os.execv('/bin/sleep', ['sleep', '{name}'])\n"
        "    os._exit(0)\n"
        "'started'"
    )
    assert ran(code) == ("started\n", False)
    assert name not in subprocess.check_output(["ps", "-e", "-o", "args"], text=True)


@pytest.mark.slow
@confined
def test_calls_do_not_count_as_time_of_the_code(clean: None) -> None:
    """F-CODE-1: a user may be asked for longer; the code's own time is limited all the same."""

    async def slow(path: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        await asyncio.sleep(0 if arguments is None else 1)
        return {"value": path}

    assert ran("tools.a.b()", slow, seconds=0.7) == ("a.b\n", False)
    finished = ran("tools.a.b()\nimport time\ntime.sleep(9)", slow, seconds=0.7)
    assert "took more than 0.7 seconds" in finished[0]
    endless = "while True: tools.a.b()"
    code = f"""
import threading, time
def call():
    {endless}
for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
    time.sleep(0.01)
{endless}"""
    assert "took more than 0.05 seconds" in ran(code, slow, seconds=0.05)[0]


@confined
def test_a_run_has_an_end_of_its_calls(monkeypatch: pytest.MonkeyPatch, clean: None) -> None:
    """F-CODE-1"""
    monkeypatch.setattr(toolset, "_MAX_CALLS", 3)
    code = "for n in range(9):\n    try: tools.a.b()\n    except ToolError: print(n)"
    finished = ran(code)
    assert finished[0] == "0\n1\n2\nThe run made more than 3 calls and was ended."


@confined
def test_a_value_that_is_not_json_is_an_error(clean: None) -> None:
    """F-CODE-1: as the NaN of a server."""

    async def answer(path: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"value": "" if arguments is None else float("nan")}

    assert "ToolError: " in ran("tools.a.b()", answer)[0]


@confined
def test_half_a_character_is_replaced(clean: None) -> None:
    """F-CODE-1: in results and in the code; the rest of both is kept."""

    async def answer(path: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"value": {"\ud800": ["a\udc00"]}}

    found = ran("[tools.a.b(), '\ud801']", answer)
    assert found == ("[{'\ufffd': ['a\ufffd']}, '\ufffd']\n", False)


async def test_where_code_cannot_be_confined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F-CODE-1: making the toolbox says so, unless the user wants it all the same."""
    monkeypatch.setattr(confine, "shortcoming", lambda system: "no kernel")
    monkeypatch.setenv("PATH", str(tmp_path))  # and no bubblewrap
    async with connect_all({"a": Member("one")}) as manager:
        with pytest.raises(SandboxUnavailable, match="no kernel"):
            manager.toolbox("anthropic", code=CodeMode())
        mode = CodeMode(Sandbox(best_effort=True))
        box = manager.toolbox("openai_responses", code=mode)
        assert await run_python(box, "tools.a.one()") == "one\n"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_bubblewrap_confines_code_as_far_as_it_can(
    monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any]
) -> None:
    """F-CODE-1: it cannot count memory and processes, so best_effort has to be asked for."""
    monkeypatch.setattr(confine, "shortcoming", lambda system: "no kernel")
    with pytest.raises(SandboxUnavailable, match="bwrap cannot limit memory and processes"):
        toolset.require_confinement(CodeMode())
    sandbox = Sandbox(best_effort=True)
    toolset.require_confinement(CodeMode(sandbox))
    for name in ("read a key", "connect over TCP", "read the host's memory", "write a file"):
        text, failed = ran(with_facts(facts, ESCAPES[name]), sandbox=sandbox)
        assert failed
        assert "it got out" not in text


def test_what_cannot_be_meant() -> None:
    """F-CODE-1"""
    for wrong in (0, -1, float("inf"), "30", float("nan")):
        with pytest.raises(UsageError, match="seconds of a CodeMode"):
            CodeMode(seconds=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must be a Sandbox"):
        CodeMode(sandbox=True)  # type: ignore[arg-type]
    assert CodeMode().rights == Sandbox(memory=512 << 20, processes=32)
    assert CodeMode(Sandbox(memory="1G", processes=2)).rights.memory == 1 << 30

"""The guards of tests/conftest.py fail the tests they should, and no others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support import requirements
from tests.support.subprocesses import TOP

pytestmark = pytest.mark.slow

TESTS = """
    import asyncio, os, signal, socket, threading
    import pytest
    from mcpclient.net.futures import BackgroundTasks
    from tests import conftest

    kept = []

    def test_sound():
        left, right = socket.socketpair()
        left.close()
        right.close()

    def test_leaks_a_thread():
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait, name="forgotten", daemon=True)
        thread.start()
        kept.append(stop)

    def test_changes_the_process():
        os.environ["LEFT"] = "behind"
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="its process would end")
    def test_hangs():
        # And not in ten minutes; again, since a signal right before the wait does not end it.
        signal.setitimer(signal.ITIMER_REAL, 0.01, 5)
        threading.Event().wait()

    def test_ctrl_c_interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def test_loses_an_exception():
        async def main():
            asyncio.get_running_loop().call_exception_handler({"message": "lost in the loop"})
            await asyncio.sleep(0)
        asyncio.run(main())

    async def fails():
        raise ValueError("lost in the library")

    async def start():
        BackgroundTasks().start(fails())
        await asyncio.sleep(0.01)

    def test_loses_an_exception_of_the_library():
        asyncio.run(start())

    @pytest.mark.loses_an_exception
    def test_means_to_lose_one():
        asyncio.run(start())

    @pytest.mark.loses_an_exception
    def test_means_to_lose_one_and_does_not():
        pass

    @pytest.mark.parametrize("seconds", [0, 3600])
    @pytest.mark.virtual_time
    async def test_a_coroutine(seconds, tmp_path):
        await asyncio.sleep(seconds)
        assert asyncio.get_running_loop().time() == seconds and tmp_path.exists()

    @pytest.mark.virtual_time
    @pytest.mark.real_time
    async def test_a_coroutine_in_real_time():
        assert asyncio.get_running_loop().time() > 0

    async def test_a_coroutine_that_fails():
        await asyncio.sleep(0)
        raise AssertionError("after a step")

    @pytest.mark.needs_browser
    def test_without_browser():
        raise AssertionError("not reached")

    @pytest.mark.needs_websockets
    def test_without_websockets():
        raise AssertionError("not reached")
"""


def run_tests(folder: Path, **environment: str) -> str:
    (folder / "test_sample.py").write_text(textwrap.dedent(TESTS))
    # The conftest is loaded as a plugin, with needs that nothing can meet.
    (folder / "lacking.py").write_text(
        "import dataclasses\n"
        "from tests import conftest\n"
        "from tests.support import leaks\n"
        "leaks.GRACE = 0.05\n"
        "conftest.NEEDS = tuple(\n"
        "    dataclasses.replace(need, is_met=lambda: False) for need in conftest.NEEDS\n"
        ")\n"
    )
    plugins = ["-p", "tests.conftest", "-p", "lacking", "-p", "no:cacheprovider"]
    # As a shell without job control starts it, that is with SIGINT ignored.
    shell = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"] if os.name == "posix" else []
    command = [*shell, sys.executable, "-m", "pytest", "-rA", "--strict-markers", *plugins]
    finished = subprocess.run(
        [*command, "test_sample.py"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{TOP}{os.pathsep}{folder}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **environment,
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return finished.stdout + finished.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_tests(tmp_path_factory.mktemp("guarded"), CI="true")


# By test: its outcomes, and words of the report.
FOUND = {
    "test_sound": ("PASSED", ""),
    "test_leaks_a_thread": ("PASSED ERROR", "thread forgotten"),
    "test_changes_the_process": ("PASSED ERROR", "variable LEFT: 'behind', which was None"),
    "test_ctrl_c_interrupts": ("PASSED", ""),
    "test_a_coroutine[0]": ("PASSED", ""),
    "test_a_coroutine[3600]": ("PASSED", ""),
    "test_a_coroutine_in_real_time": ("PASSED", ""),
    "test_a_coroutine_that_fails": ("FAILED", "AssertionError: after a"),
    "test_loses_an_exception": ("PASSED ERROR", "lost in the loop"),
    "test_loses_an_exception_of_the_library": ("PASSED ERROR", "lost in the library"),
    "test_means_to_lose_one": ("PASSED", ""),
    "test_means_to_lose_one_and_does_not": ("PASSED ERROR", "was to lose an exception, and did"),
    "test_without_websockets": ("ERROR", "CI needs the websockets package"),
    "test_without_browser": ("", "needs Chromium: none is on PATH (make browser)"),
}


def test_each_test_has_the_outcome_that_the_guards_give_it(report: str) -> None:
    """A leak, a change of the process and an exception that is lost are errors of their test.

    In CI, what it is expected to have must not be skipped.
    """
    assert "the handler of SIGTERM: " in report
    for name, (outcomes, words) in FOUND.items():
        told = rf"(?m)^(PASSED|FAILED|ERROR) test_sample\.py::{re.escape(name)}(?: |$)"
        assert set(re.findall(told, report)) == set(outcomes.split()), name
        assert words in report


@pytest.mark.needs_posix
def test_a_hang_is_a_failure_that_shows_where(report: str) -> None:
    assert "FAILED test_sample.py::test_hangs - Failed: the test has not ended within" in report
    assert re.search(r"test_sample.py\", line \d+ in test_hangs\n", report)


def test_what_can_be_installed_is_imported_by_the_function_that_knows_ci() -> None:
    """Only parts of Python itself, which a build may lack, are skipped for by other means."""
    parts = {'importorskip("readline")', "importorskip(module)", "importorskip("}
    found = {
        match
        for path in (TOP / "tests").rglob("*.py")
        if path != Path(__file__)
        for match in re.findall(r"importorskip\(.*?(?:\)|$)", path.read_text("utf-8"), re.M)
    }
    assert found == parts


def test_a_module_that_is_missing_is_an_error_in_ci_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    monkeypatch.setitem(requirements.SINCE, "anthropic", (3, 9))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(ModuleNotFoundError):
        requirements.required("anthropic")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        requirements.required("anthropic")
    monkeypatch.setitem(requirements.SINCE, "anthropic", (9, 9))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match=r"anthropic needs Python 9\.9"):
        requirements.required("anthropic")


# By room, which is a folder of tests; those beside the rooms come first.
SLOW = {
    "": "rules of the house read all sources, or start programs for each row",
    "adapters": "imports SDKs and frameworks, or converts without an end",
    "bridging": "plays hostile hosts and servers by chance",
    "cli": "starts command lines, terminals, and servers that make them wait",
    "client": "starts a server again for each row, or compiles schemas made to cost time",
    "code": "starts hostile code, exhausts limits, or makes a thousand calls",
    "entries": "makes bundles by a packer in Node, or values without an end",
    "faults": "plays a thousand cells, each with a server of its own",
    "framing": "plays long tables of faults whole",
    "gate": "reads all sources, or fills the memory",
    "inspector": "drives a browser, or starts Node and shells",
    "manager": "starts a server again for each row",
    "net": "starts programs for each row, or several that write at once",
    "protocol": "fills the memory of patterns, or compiles the schemas of all revisions",
    "recording": "counts the work at several sizes, or starts a server for each command",
    "sandbox": "starts hostile servers, or those of other makers, with and without a sandbox",
    "stubs": "starts servers of other makers, or type checkers over many files",
    "support": "runs pytest on tests that break its rules",
    "sync": "starts a program for each way to end or to fork",
    "testing": "runs pytest in a process of its own",
    "tools": "reads all transcripts, builds and installs, or copies all tests",
    "transports": "reads all transcripts",
    "vendoring": "makes copies of parts, and runs programs by them",
}


def test_each_room_has_a_reason_for_its_slow_tests() -> None:
    """`make test` leaves them out; `make check`, and so CI, does not."""
    tests = TOP / "tests"
    marked = {
        "".join(path.relative_to(tests).parent.parts[:1])
        for path in tests.rglob("test_*.py")
        if re.search(r"mark\.(slow|quick_rows)\b", path.read_text("utf-8"))
    }
    assert marked == set(SLOW)
    recipes = (TOP / "Makefile").read_text("utf-8")
    assert recipes.count('-m "not slow"') == 1
    assert "make check" in (TOP / ".ci" / "run").read_text("utf-8")

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
        # And not in five minutes; again, since a signal right before the wait does not end it.
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


def test_a_sound_test_passes(report: str) -> None:
    assert "PASSED test_sample.py::test_sound" in report
    assert "ERROR test_sample.py::test_sound" not in report


def test_a_leak_is_an_error_of_the_test_that_leaks(report: str) -> None:
    assert "ERROR test_sample.py::test_leaks_a_thread" in report
    assert "thread forgotten" in report


def test_a_change_of_the_process_is_an_error_of_the_test_that_made_it(report: str) -> None:
    assert "ERROR test_sample.py::test_changes_the_process" in report
    assert "variable LEFT: 'behind', which was None" in report
    assert "the handler of SIGTERM: " in report
    assert "ERROR test_sample.py::test_ctrl_c_interrupts" not in report


@pytest.mark.needs_posix
def test_a_hang_is_a_failure_that_shows_where(report: str) -> None:
    assert "FAILED test_sample.py::test_hangs - Failed: the test has not ended within" in report
    assert re.search(r"test_sample.py\", line \d+ in test_hangs\n", report)


def test_ctrl_c_works_in_tests_that_were_started_with_it_ignored(report: str) -> None:
    assert "PASSED test_sample.py::test_ctrl_c_interrupts" in report


def test_a_coroutine_is_run_to_its_end(report: str) -> None:
    for seconds in (0, 3600):
        assert f"PASSED test_sample.py::test_a_coroutine[{seconds}]" in report
    assert "PASSED test_sample.py::test_a_coroutine_in_real_time" in report
    assert "FAILED test_sample.py::test_a_coroutine_that_fails - AssertionError: after a" in report


def test_an_exception_lost_in_the_loop_is_an_error(report: str) -> None:
    assert "ERROR test_sample.py::test_loses_an_exception" in report
    assert "lost in the loop" in report


def test_an_exception_lost_in_a_task_of_the_library_is_an_error(report: str) -> None:
    """Unless the test says that it provokes one, and then it has to."""
    assert "ERROR test_sample.py::test_loses_an_exception_of_the_library" in report
    assert "lost in the library" in report
    assert "PASSED test_sample.py::test_means_to_lose_one\n" in report
    assert "ERROR test_sample.py::test_means_to_lose_one\n" not in report
    assert "ERROR test_sample.py::test_means_to_lose_one_and_does_not" in report


def test_ci_must_not_skip_what_it_is_expected_to_have(report: str) -> None:
    assert "CI needs the websockets package" in report
    assert "ERROR test_sample.py::test_without_websockets" in report


def test_ci_may_skip_what_a_bare_machine_lacks(report: str) -> None:
    assert "needs Chromium: none is on PATH (make browser)" in report
    assert "test_without_browser" not in [line.split("::")[-1] for line in report.splitlines()]


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


_READS_ALL = "a rule of the house: reads all sources"
_READS_TRANSCRIPTS = "reads all transcripts"
SLOW = {
    "tests/adapters/test_toolbox.py": "converts definitions without an end",
    "tests/client/test_listed_tools.py": "compiles schemas made to cost time",
    "tests/faults/test_matrix.py": "starts a server for each cell over stdio",
    "tests/inspector/test_routes.py": "copies the package and starts it",
    "tests/net/test_chained_log.py": "has four processes write at once",
    "tests/protocol/schema/test_patterns.py": "fills the memory of patterns",
    "tests/recording/test_redaction.py": "counts the work at several sizes",
    "tests/tools/fuzz/test_targets.py": "mutates the seeds of every target",
    "tests/tools/test_capture.py": _READS_TRANSCRIPTS,
    "tests/tools/test_conformance_judged.py": "starts the judge of meetings",
    "tests/tools/test_conformance_summary.py": _READS_TRANSCRIPTS,
    "tests/transports/test_replaying_captures.py": _READS_TRANSCRIPTS,
    "tests/gate/test_census.py": _READS_ALL,
    "tests/test_bandit.py": _READS_ALL,
    "tests/test_features.py": _READS_ALL,
    "tests/test_floors.py": _READS_ALL,
    "tests/test_randomness.py": _READS_ALL,
    "tests/test_raw_exceptions.py": _READS_ALL,
    "tests/test_style.py": _READS_ALL,
    "tests/adapters/test_provider_*.py": "importing the SDKs takes seconds",
    "tests/cli/test_completion.py": "starts the command line in three shells",
    "tests/adapters/test_recipes.py": "imports five frameworks",
    "tests/inspector/test_snippets.py": "starts Node and shells",
    "tests/sandbox/test_real_servers.py": "starts servers of other makers, each twice",
    "tests/sync/test_loop_thread.py": "starts a program for each way to end or to fork",
    "tests/vendoring/test_pythons.py": "freezes a program, or runs one without each module",
    "tests/vendoring/test_sessions.py": "makes copies of parts and runs real servers by them",
    "tests/vendoring/test_touched.py": "starts a Python for each of 34 parts",
    "tests/code/test_toolset.py": "makes a thousand calls, or starts many processes",
    "tests/code/test_toolset_runs.py": "starts hostile code without a sandbox, or exhausts a limit",
    "tests/net/login/test_storage_keychain.py": "starts a stand-in of a tool for each piece",
    "tests/vendoring/test_copying.py": "reads the imports of a copy for each part",
    "tests/code/test_tokens.py": "makes the calls of ten tasks",
    "tests/stubs/test_real_servers.py": "starts servers of other makers",
    "tests/stubs/test_stubs_source.py": "runs type checkers over many files",
    "tests/tools/test_distribution.py": "builds, and installs into environments",
    "tests/tools/soak/logins/test_logins.py": "kills processes for seconds",
    "tests/tools/test_page_lint.py": "starts Node",
    "tests/tools/test_saboteur.py": "runs the tests of a copy, and reads all faults",
    "tests/tools/test_vendored.py": "copies all tests",
    "tests/cli/shell/test_terminal.py": "starts a shell and its server for each way to type",
    "tests/cli/test_adding.py": "starts several command lines in terminals",
    "tests/cli/test_asking.py": "starts a command line for each answer",
    "tests/cli/test_inputs.py": "starts a command line for each answer",
    "tests/cli/test_bridge.py": "starts a bridge and a server for each rule, or moves 64 MiB",
    "tests/cli/test_bridge_rights.py": "starts a bridge and a server for each rule",
    "tests/cli/test_gateway.py": "starts a gateway and its servers",
    "tests/cli/test_guide.py": "runs every program of the guide",
    "tests/cli/test_screens.py": "runs 250 command lines at each width",
    "tests/cli/test_sessions.py": "starts a session and several command lines for each",
    "tests/entries/bundles/test_archive_packer.py": "makes bundles by a packer in Node",
    "tests/inspector/test_browser*.py": "drives a browser; test_page.py does in quick tests",
    "tests/sandbox/test_confine.py": "starts hostile servers without a sandbox, or by bwrap",
    "tests/sandbox/test_configured.py": "starts six servers for each place that may require it",
    "tests/test_costs.py": "counts the work of each function at several sizes",
    "tests/test_exit.py": "starts a program for each way to end",
}


def test_few_tests_are_slow_and_each_for_a_reason() -> None:
    """`make test` leaves them out; `make check`, and so CI, does not."""
    marked = {
        path
        for path in (TOP / "tests").rglob("test_*.py")
        if path != Path(__file__)
        and re.search(r"pytest\.mark\.slow|\bslow_rows\(", path.read_text("utf-8"))
    }
    assert marked == {each for pattern in SLOW for each in TOP.glob(pattern)}
    recipes = (TOP / "Makefile").read_text("utf-8")
    assert recipes.count('-m "not slow"') == 1
    assert "make check" in (TOP / ".ci" / "run").read_text("utf-8")

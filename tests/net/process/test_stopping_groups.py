"""Groups of processes: signals, zombies, the Windows tree, and the end of the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from mcpclient.net.process import stopping
from mcpclient.net.process.stopping import ProcessGroup, WindowsTree, close_pipes, process_group
from tests.net.process_helpers import is_alive, python, tree, wait_until

if TYPE_CHECKING:
    from mcpclient.net.windows import Job

TOP = Path(__file__).parent.parent.parent.parent
HOST = str(TOP / "tests" / "servers" / "process_host.py")


def run_host(way: str) -> tuple[subprocess.CompletedProcess[str], list[int]]:
    """Run a program that uses a server; return how it ended and the server's process ids."""
    answer = subprocess.run(
        [sys.executable, "-W", "error", HOST, way],
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert answer.stdout, answer.stderr
    return answer, [int(word) for word in answer.stdout.splitlines()[0].split()]


@pytest.mark.quick_rows(1)
@pytest.mark.needs_posix
@pytest.mark.parametrize(
    ("way", "exit_code", "last_words"),
    [
        ("return", 0, ""),
        ("closed", 0, ""),
        ("raise", 1, "LookupError: on purpose\n"),
        ("interrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
    ],
)
def test_no_process_outlives_the_interpreter(way: str, exit_code: int, last_words: str) -> None:
    """F-STD-2 F-LIFE-5: a shell, its child and its grandchild, all deaf to SIGTERM."""
    answer, pids = run_host(way)
    assert len(set(pids)) == 3
    for pid in pids:
        wait_until(lambda pid=pid: not is_alive(pid), f"process {pid} is gone")  # type: ignore[misc]
    assert answer.returncode == exit_code
    assert answer.stderr.endswith(last_words) and bool(answer.stderr) == bool(last_words)
    assert "ResourceWarning" not in answer.stderr and "Event loop is closed" not in answer.stderr


@pytest.mark.slow
@pytest.mark.needs_posix
def test_a_forked_child_does_not_kill_its_parents_server() -> None:
    """F-STD-2: neither by abort() nor by its exit hooks."""
    answer, pids = run_host("fork")
    assert answer.stdout.splitlines()[1:] == ["child 0"], answer.stderr
    assert answer.returncode == 0 and answer.stderr == ""
    assert not any(map(is_alive, pids))


def start(command: Sequence[str]) -> ProcessGroup:
    process = subprocess.Popen(
        command, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    return ProcessGroup(process)


def read_pids(group: ProcessGroup) -> list[int]:
    assert group.process.stdout is not None
    return [int(word) for word in group.process.stdout.readline().split()]


@pytest.mark.needs_posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_signal_reaches_the_whole_group(name: str) -> None:
    """F-STD-2"""
    group = start(tree())
    pids = read_pids(group)
    number = signal.Signals[name]
    group.kill() if name == "SIGKILL" else group.signal(number)
    group.process.wait(timeout=10)
    for pid in pids:
        wait_until(lambda pid=pid: not is_alive(pid), f"{pid} is gone")  # type: ignore[misc]
    wait_until(group.is_gone, "the group is gone")
    assert group.process.returncode == -number
    group.forget()
    close_pipes(group.process)


@pytest.mark.needs_posix
def test_a_group_that_is_gone_is_never_signalled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-2: its number may by then belong to others."""
    group = start(python(""))
    group.process.wait()
    assert group.is_gone()
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("signalled"))
    group.kill()
    group.signal(signal.SIGTERM)
    assert group.is_gone()
    group.forget()
    close_pipes(group.process)


@pytest.mark.needs_posix
def test_a_group_of_zombies_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-6: in a container without an init process orphans are not collected."""
    zombie = subprocess.Popen(python(""), start_new_session=True)
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    group = ProcessGroup(zombie)
    os.killpg(zombie.pid, 0)  # the system still finds it
    assert group.is_gone() or not Path("/proc/self/stat").exists()
    zombie.wait()
    group.forget()


@pytest.mark.needs_posix
def test_without_proc_a_group_that_answers_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-2"""
    group = start(tree())
    read_pids(group)
    assert not group.is_gone()

    def no_proc(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "listdir", no_proc)
    assert not group.is_gone()
    monkeypatch.setattr(os, "listdir", lambda path: ["999999999"])  # ended while we looked
    assert group.is_gone()
    monkeypatch.undo()
    os.killpg(group.process.pid, signal.SIGKILL)
    group.process.wait()
    group.forget()
    close_pipes(group.process)


class FakeProcess:
    pid = 42
    stdin = stdout = stderr = None
    returncode: int | None = None

    def __init__(self) -> None:
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1
        raise PermissionError("as Windows says for a process that has just ended")


def test_on_windows_the_tree_is_killed_before_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-6: taskkill finds the tree only as long as its root lives."""
    process, commands = FakeProcess(), list[Sequence[str]]()

    def run(command: Sequence[str], **_: object) -> None:
        commands.append(command)
        raise FileNotFoundError("taskkill")

    monkeypatch.setattr(subprocess, "run", run)
    group = WindowsTree(cast("subprocess.Popen[bytes]", process))
    group.signal(signal.SIGINT)
    assert not commands
    group.signal(signal.SIGTERM)
    assert commands == [["taskkill", "/PID", "42", "/T", "/F"]] and process.kills == 1
    group.kill()
    assert len(commands) == 2
    process.returncode = 1
    group.kill()
    assert len(commands) == 2 and group.is_gone()
    process.returncode = None
    group.forget()
    group.kill()
    assert len(commands) == 2


class FakeJob:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.members = 2

    def kill(self) -> None:
        self.calls.append("kill")

    def is_empty(self) -> bool:
        return self.members == 0

    def close(self) -> None:
        self.calls.append("close")


def test_on_windows_a_job_is_killed_whether_or_not_its_first_process_lives() -> None:
    """F-STD-6: what a server left behind is found in its job; taskkill is not asked."""
    process, job = FakeProcess(), FakeJob()
    group = WindowsTree(cast("subprocess.Popen[bytes]", process), cast("Job", job))
    process.returncode = 0
    assert not group.is_gone()
    group.signal(signal.SIGTERM)
    job.members = 0
    assert group.is_gone() and job.calls == ["kill"] and process.kills == 0
    group.forget()
    group.kill()
    assert job.calls == ["kill", "close"] and group.is_gone()


def test_the_exit_hook_kills_what_is_left_and_the_fork_hook_forgets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-STD-2"""
    killed: list[int] = []
    monkeypatch.setattr(subprocess, "run", lambda words, **_: killed.append(int(words[2])))
    group = WindowsTree(cast("subprocess.Popen[bytes]", FakeProcess()))
    stopping.kill_all()
    assert killed == [42]
    stopping.disown_all()
    stopping.kill_all()
    assert killed == [42] and group.disowned


@pytest.mark.needs_posix
def test_each_platform_has_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-6"""
    monkeypatch.setattr(stopping, "windows_calls", lambda: None, raising=False)
    monkeypatch.setattr(stopping, "contain", lambda pid, calls: None, raising=False)
    for platform, kind in (
        ("linux", ProcessGroup),
        ("darwin", ProcessGroup),
        ("win32", WindowsTree),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        group = process_group(cast("subprocess.Popen[bytes]", FakeProcess()))
        group.forget()
        assert type(group) is kind

"""Job objects: the order of calls with a stand-in everywhere, and real ones on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.net.process.server_process import spawn
from mcpclient.net.process.stopping import StopLadder
from mcpclient.net.windows import Job, WindowsCalls, contain, windows_calls
from tests.net.process_helpers import Recorder, python, until, wait_until
from tests.support.pointers import pointed_at

TOP = Path(__file__).parent.parent.parent.parent


class System:
    """The answers of kernel32 and ntdll; ``refusing`` names the calls that fail."""

    def __init__(self, *refusing: str) -> None:
        self.refusing = refusing
        self.calls: list[tuple[Any, ...]] = []
        self.members = 3

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int | None:
            plain = [argument for argument in arguments if isinstance(argument, int)]
            self.calls.append((name, *plain))
            if name in self.refusing:
                return None if name == "CreateJobObjectW" else 0
            if name == "QueryInformationJobObject":
                pointed_at(arguments[2]).active_processes = self.members
            return {"OpenProcess": 11, "CreateJobObjectW": 22}.get(name, 1)

        return call

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call for call in self.calls if call[0] == name]


def test_a_process_is_in_its_job_before_it_runs() -> None:
    """F-STD-6: and the job ends its processes with its last handle."""
    system = System()
    assert contain(42, WindowsCalls(system, system, system)) is not None
    assert [call[0] for call in system.calls] == [
        "OpenProcess",
        "CreateJobObjectW",
        "SetInformationJobObject",
        "AssignProcessToJobObject",
        "NtResumeProcess",
        "CloseHandle",
    ]
    assert system.named("OpenProcess") == [("OpenProcess", 0x0901, 0, 42)]
    assert system.named("SetInformationJobObject") == [("SetInformationJobObject", 22, 9, 144)]
    assert system.named("AssignProcessToJobObject") == [("AssignProcessToJobObject", 22, 11)]
    assert system.calls[-2:] == [("NtResumeProcess", 11), ("CloseHandle", 11)]


@pytest.mark.parametrize(
    ("refused", "closed"), [("CreateJobObjectW", [11]), ("AssignProcessToJobObject", [22, 11])]
)
def test_without_a_job_the_process_runs_all_the_same(refused: str, closed: list[int]) -> None:
    """F-STD-6: and no handle stays open."""
    system = System(refused)
    assert contain(42, WindowsCalls(system, system, system)) is None
    assert system.named("NtResumeProcess") == [("NtResumeProcess", 11)]
    assert system.named("CloseHandle") == [("CloseHandle", handle) for handle in closed]


def test_a_closed_job_calls_the_system_no_more() -> None:
    """F-STD-6: its handle may by then be another's."""
    system = System()
    job = Job(system, 22)
    assert not job.is_empty()
    system.members = 0
    assert job.is_empty()
    job.kill()
    job.close()
    assert system.calls[-2:] == [("TerminateJobObject", 22, 1), ("CloseHandle", 22)]
    before = list(system.calls)
    job.kill()
    job.close()
    assert job.is_empty() and system.calls == before


def test_a_job_that_does_not_answer_counts_as_empty() -> None:
    """F-STD-6: else whoever stops a server would wait for nothing."""
    assert Job(System("QueryInformationJobObject"), 22).is_empty()


@pytest.mark.needs_posix
def test_elsewhere_there_are_no_jobs() -> None:
    """F-STD-6"""
    with pytest.raises(OSError, match="only Windows"):
        windows_calls()


# A server that starts a helper by way of a process that ends at once, so that no parent leads
# to the helper. The helper holds the file it is given open, which on Windows keeps it from being
# removed.
HELPER = "import sys, time; file = open(sys.argv[1], 'w'); print('up', flush=True); time.sleep(60)"
BETWEEN = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]])"
)
SERVER = """
import subprocess, sys
subprocess.run([sys.executable, "-c", *sys.argv[1:4]])
sys.stdin.readline()
"""


def is_held(path: Path) -> bool:
    try:
        path.unlink()
    except PermissionError:
        return True
    except FileNotFoundError:
        pass
    return False


@pytest.mark.needs_windows
async def test_no_descendant_survives_the_end_of_its_server(tmp_path: Path) -> None:
    """F-STD-2 F-STD-6: not even one whose parent ended long ago; taskkill would miss it."""
    path = tmp_path / "held"
    recorder = Recorder()
    server = await spawn([*python(SERVER), BETWEEN, HELPER, str(path)], recorder)
    assert await recorder.lines(1) == ["up"]
    assert is_held(path)
    server.write(b"\n")
    error = await recorder.end()
    assert error.exit_code == 0
    await until(lambda: not is_held(path), "the helper is gone")
    await server.stop()


@pytest.mark.needs_windows
@pytest.mark.parametrize("way", ["stop", "abort"])
async def test_stopping_a_server_ends_its_descendants(tmp_path: Path, way: str) -> None:
    """F-STD-2 F-STD-6"""
    path = tmp_path / "held"
    recorder = Recorder()
    deaf = SERVER.replace("sys.stdin.readline()", "__import__('time').sleep(60)")
    command = [*python(deaf), BETWEEN, HELPER, str(path)]
    server = await spawn(command, recorder, ladder=StopLadder(close_input=0.01))
    assert await recorder.lines(1) == ["up"]
    if way == "stop":
        await server.stop()
        assert not is_held(path)
    else:
        server.abort()
        await until(lambda: not is_held(path), "the helper is gone")


OWNER = """
import asyncio, os, sys
from mcpclient.net.process.server_process import spawn
from tests.net.process_helpers import Recorder, python

async def main():
    recorder = Recorder()
    server = await spawn([*python(sys.argv[1]), *sys.argv[2:]], recorder)
    await recorder.lines(1)
    print("up", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.needs_windows
def test_servers_end_with_a_program_that_is_killed_outright(tmp_path: Path) -> None:
    """F-STD-2 F-STD-6: no exit hook runs there; the system closes the job."""
    path = tmp_path / "held"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, SERVER, BETWEEN, HELPER, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(TOP)},
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().strip() == b"up"
        assert is_held(path)
        owner.kill()
        owner.wait()
    wait_until(lambda: not is_held(path), "the helper is gone")

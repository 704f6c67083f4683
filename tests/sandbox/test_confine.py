"""Confined servers: the powers of a hostile one and of an honest one, and their leftovers."""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.errors import SandboxUnavailable, UsageError
from mcpclient.net.process.launch import launch
from mcpclient.sandbox import confine
from mcpclient.sandbox.confine import confined, mac_profile, shortcoming
from mcpclient.sandbox.rights import Sandbox
from tests.sandbox import hostile

HOSTILE = Path(hostile.__file__)
PACKAGE = Path(mcpclient.__file__).parent
DEMO = PACKAGE.parent / "mcpclient" / "testing" / "demo_server.py"

# Ways that would harm this machine, or mean nothing, without a sandbox around them.
ONLY_CONFINED = {
    *("mount_a_file_system", "change_the_root", "end_the_launcher", "attach_shared_memory"),
    *("become_root", "drop_the_limits", "load_code_into_the_launcher", "run_for_long"),
    *("make_many_processes", "use_much_memory", "use_much_shared_memory"),
    *("change_how_programs_are_laid_out", "use_memory_of_no_process"),
    *("call_the_kernel_as_x32", "call_the_kernel_in_32_bits", "open_a_virtual_machine_socket"),
}
NEEDS_ROOT = {"open_a_packet_socket", "change_the_owner_of_a_file"}

LIMITS: Mapping[str, dict[str, Any]] = {
    "make_many_processes": {"processes": 8},
    "use_much_memory": {"memory": "256M"},
    "use_much_shared_memory": {"memory": "256M"},
    "use_memory_of_no_process": {"memory": "256M"},
    "run_for_long": {"seconds": 0.3},
}


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder that no sandbox grants, with the targets of the hostile program."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "key").write_text("secret")
    read, write = os.pipe()
    os.set_inheritable(read, True)
    # A short name: the path of a Unix socket holds 107 characters.
    sockets = Path("/tmp", f"mcpclient-test-{os.urandom(6).hex()}")
    sockets.mkdir()
    victim = subprocess.Popen(["sleep", "600"])
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        unix.bind(str(sockets / "stream"))
        abstract.bind("\0" + sockets.name)
        datagrams.bind(str(sockets / "datagrams"))
        unix.listen()
        abstract.listen()
        facts = {
            "client": os.getpid(),
            "victim": victim.pid,
            "port": server.getsockname()[1],
            "unix": str(sockets / "stream"),
            "datagrams": str(sockets / "datagrams"),
            "abstract": sockets.name,
            "descriptor": read,
        }
        (folder / "facts.json").write_text(json.dumps(facts))
        yield folder
    victim.kill()
    victim.wait()
    os.close(read)
    os.close(write)
    shutil.rmtree(sockets)


def run(
    command: list[str], sandbox: Sandbox | None = None, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a command, confined, and return its exit code, stdout and stderr."""
    process = launch(command, {**os.environ, **(env or {})}, None, sandbox)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output.decode(), errors.decode()


def attempt(ways: str, outside: Path) -> tuple[int, str, str]:
    """Let the hostile program try these ways from a sandbox."""
    sandbox = Sandbox([outside / "facts.json"], **LIMITS.get(ways, {}))
    command = [sys.executable, str(HOSTILE), ways, str(outside)]
    return run(command, sandbox, {"LD_PRELOAD": "/no/such.so"})


@pytest.mark.needs_landlock
def test_a_hostile_server_does_not_get_out(outside: Path) -> None:
    """F-BOX-2"""
    ways = [way for way in hostile.WAYS if way not in LIMITS]
    said, errors = attempt(",".join(ways), outside)[1:]
    answers = dict(zip(ways, said.splitlines()))
    assert [way for way in ways if not answers.get(way, "").startswith("denied: ")] == [], errors
    assert (outside / "key").read_text() == "secret"


@pytest.mark.quick_rows(1)
@pytest.mark.needs_landlock
@pytest.mark.parametrize("way", LIMITS)
def test_a_hostile_server_is_limited(way: str, outside: Path) -> None:
    """F-BOX-3"""
    code, output, errors = attempt(way, outside)
    if way == "use_memory_of_no_process":
        assert output.startswith("denied: "), errors
    else:
        assert code == -signal.SIGKILL
        assert "[mcpclient sandbox] the server was ended" in errors


@pytest.mark.slow
@pytest.mark.needs_landlock
@pytest.mark.parametrize("way", [way for way in hostile.WAYS if way not in ONLY_CONFINED])
def test_without_a_sandbox_each_way_leads_out(way: str, outside: Path, tmp_path: Path) -> None:
    """F-BOX-3: the denials above are the sandbox's, not the machine's."""
    if way in NEEDS_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    temporary = {**os.environ, "TMPDIR": str(tmp_path)}
    finished = subprocess.run(
        [sys.executable, str(HOSTILE), way, str(outside)],
        env=temporary,
        capture_output=True,
        close_fds=False,
        text=True,
    )
    assert finished.stdout.strip() == "escaped", finished


@pytest.mark.slow
@pytest.mark.needs_landlock
@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/bin/python3").exists(),
    reason="needs root, to become another user, and a Python that others may run",
)
def test_another_user_is_confined_as_root_is(outside: Path) -> None:
    """F-BOX-2, F-BOX-4: and children read their own /proc; nothing outlives the launcher."""
    place = Path("/tmp", f"mcpclient-test-{os.urandom(6).hex()}")
    shutil.copytree(PACKAGE, place / "mcpclient", ignore=shutil.ignore_patterns("*.js", "*.md"))
    (place / "program").mkdir()
    shutil.copy(HOSTILE, place / "program" / "hostile.py")
    shutil.copytree(outside, place / "outside")
    facts = json.loads((outside / "facts.json").read_text())
    driver = f"""
import json, os, subprocess, sys
sys.path.insert(0, {str(place)!r})
from mcpclient.net.process.launch import launch
from mcpclient.sandbox.rights import Sandbox
victim = subprocess.Popen(["sleep", "60"])
outside = {str(place / "outside")!r}
facts = {{**{facts!r}, "client": os.getpid(), "victim": victim.pid}}
with open(outside + "/facts.json", "w") as file:
    json.dump(facts, file)
answers = {{}}
for way in {[way for way in hostile.WAYS if way not in LIMITS]!r}:
    command = ["/usr/bin/python3", {str(place / "program" / "hostile.py")!r}, way, outside]
    process = launch(command, {{}}, "/", Sandbox([outside + "/facts.json"]))
    answers[way] = process.communicate()[0].decode()
process = launch(["/usr/bin/python3", "-c", {LIFE!r}], {{}}, "/", Sandbox(processes=20))
answers["life"] = process.communicate()[0].decode()
for number in (15, 9):
    sleeper = "import time; print(flush=True); time.sleep(600)"
    process = launch(["/usr/bin/python3", "-c", sleeper], {{}}, "/", Sandbox())
    process.stdout.readline()
    process.send_signal(number)
    answers[number] = str([process.stdout.read().decode(), process.wait()])  # the end of stdout
victim.kill()
print(json.dumps(answers))
"""
    for path in (place, *place.rglob("*")):
        os.chown(path, 65534, 65534)
    try:
        finished = subprocess.run(
            ["/usr/bin/python3", "-c", driver],
            user=65534,
            group=65534,
            extra_groups=(),
            cwd="/",
            env={"HOME": "/nonexistent"},
            capture_output=True,
            text=True,
        )
    finally:
        shutil.rmtree(place)
    answers = json.loads(finished.stdout or "{}")
    ended = [answers.pop(name, finished.stderr) for name in ("life", "15", "9")]
    assert ended == ["[]\n", "['', -15]", "['', -9]"]
    assert len(answers) == len(hostile.WAYS) - len(LIMITS), finished.stderr
    assert {way for way, said in answers.items() if not said.startswith("denied: ")} == set()


@pytest.mark.needs_landlock
def test_what_ordinary_programs_do_works(tmp_path: Path) -> None:
    """F-BOX-1"""
    program = """
import multiprocessing.pool, os, shutil, subprocess, sys, tempfile, threading, time, zoneinfo
with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "file")
    with open(name, "w") as file:
        file.write("text")
    os.chmod(name, 0o640)
    os.utime(name)
    shutil.copy2(name, name + ".copy")
    shutil.copytree(folder, folder + ".tree")
    os.rename(name, name + ".renamed")
    assert oct(os.stat(name + ".copy").st_mode) == "0o100640"
assert subprocess.run(["id"], capture_output=True).returncode == 0
thread = threading.Thread(target=time.sleep, args=(0,))
thread.start(), thread.join()
with open(sys.argv[1] + "/written", "w") as file:
    file.write("mine")
import asyncio
asyncio.run(asyncio.sleep(0))  # makes a pair of sockets
print(os.getcwd(), zoneinfo.ZoneInfo("UTC"), len(os.listdir(sys.argv[1])))
"""
    (tmp_path / "there").write_text("")
    command = [sys.executable, "-c", program, str(tmp_path)]
    code, output, errors = run(command, Sandbox(write=[tmp_path]))
    assert (code, errors) == (0, "")
    assert output == f"{os.getcwd()} UTC 2\n"


@pytest.mark.needs_landlock
def test_a_server_with_the_network_has_no_other_sockets() -> None:
    """F-BOX-1"""
    program = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
socket.getaddrinfo("localhost", 80)
for family in (socket.AF_UNIX, socket.AF_PACKET):
    try:
        socket.socket(family)
    except PermissionError:
        print("denied")
"""
    code, output, errors = run([sys.executable, "-c", program], Sandbox(network=True))
    assert (code, output) == (0, "denied\ndenied\n"), errors


LIFE = """
import os, resource, signal, socket, subprocess, sys
for number in (signal.SIGCHLD, signal.SIGALRM):
    signal.signal(number, lambda *_: None)  # without SA_RESTART, as Python and dash do it
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
name = os.environ["TMPDIR"] + "/file"
open(name, "w").close()
failures = []
for _ in range(300):
    try:
        process = os.fork()
        if process == 0:
            with open("/proc/self/stat") as file:
                os._exit(file.read().split()[0] != str(os.getpid()))
        assert os.waitpid(process, 0)[1] == 0, "/proc/self of a child"
        os.chmod(name, 0o600)
        for descriptor in socket.socketpair():
            descriptor.close()
        try:
            socket.socket()
        except PermissionError:
            pass
    except Exception as error:
        failures.append(str(error))
pipeline = "for each in 1 2 3 4; do echo hi | tr h H | cat; done"
for _ in range(10):
    for shell in ("sh", "bash"):
        made = subprocess.run([shell, "-c", pipeline], capture_output=True, text=True)
        failures += [made.stderr] * ((made.stdout, made.stderr) != ("Hi\\n" * 4, ""))
signal.setitimer(signal.ITIMER_REAL, 0)
print(failures)
"""


@pytest.mark.slow
@pytest.mark.needs_landlock
def test_no_call_of_an_ordinary_program_is_interrupted() -> None:
    """F-BOX-4: forks, modes, sockets and pipelines under a timer and with SIGCHLD handlers."""
    code, output, errors = run([sys.executable, "-c", LIFE], Sandbox(processes=20))
    assert (code, output, errors) == (0, "[]\n", "")


NESTED = """
import json, os, sys
from mcpclient.net.process.launch import launch
from mcpclient.sandbox.rights import Sandbox
hostile, outside, answers = *sys.argv[1:], {}
copy = "import os, shutil; os.chdir(os.environ['TMPDIR']); open('x', 'w'); shutil.copy('x', 'y')"
commands = {way: [hostile, way, outside] for way in %r}
commands["copy"] = ["-c", copy + "; print('denied: ')"]
for name, words in commands.items():
    process = launch([sys.executable, *words], {}, None, Sandbox([outside + "/facts.json"]))
    output, errors = process.communicate()
    if not output.startswith(b"denied: "):
        answers[name] = [output.decode(), errors.decode()]
print(json.dumps(answers))
"""


@pytest.mark.slow
@pytest.mark.needs_landlock
def test_without_mount_namespaces_modes_are_changed_by_the_launcher(outside: Path) -> None:
    """F-BOX-2, F-BOX-4: in a container, for example, or in a sandbox like this one."""
    ways = [
        way
        for way in hostile.WAYS
        if way.startswith(("change_the_mode", "make_a_program", "create_a_program", "read_"))
    ]
    command = [sys.executable, "-c", NESTED % ways, str(HOSTILE), str(outside)]
    around = Sandbox(read=[PACKAGE.parent], write=[outside])
    code, output, errors = run(command, around, {"PYTHONPATH": str(PACKAGE.parent)})
    assert (code, output) == (0, "{}\n"), errors
    assert (outside / "key").stat().st_mode & 0o777 == 0o644


@pytest.mark.quick_rows(1)
@pytest.mark.needs_landlock
@pytest.mark.parametrize("way", ["exit", "signal", "pipe", "missing"])
def test_a_confined_server_ends_as_an_unconfined_one(way: str) -> None:
    """F-BOX-1"""
    program = {
        "exit": "raise SystemExit(7)",
        "signal": "import os, signal; os.kill(os.getpid(), signal.SIGUSR2)",
        "pipe": "import os; os.execvp('sh', ['sh', '-c', 'kill -PIPE $$'])",
        "missing": "import no_such_module_anywhere",
    }[way]
    command = [sys.executable, "-c", program]
    assert run(command, Sandbox()) == run(command)


PARENT = """
import os, sys, time
from mcpclient.net.process.launch import launch
from mcpclient.sandbox.rights import Sandbox
server = '''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), os.environ["TMPDIR"], flush=True)
        time.sleep(600)
    os._exit(0)
time.sleep(600)
'''
process = launch([sys.executable, "-c", server], dict(os.environ), None, Sandbox())
print(process.pid, process.stdout.readline().decode(), flush=True)
sys.stdin.readline()
"""


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.quick_rows(1)
@pytest.mark.needs_landlock
@pytest.mark.parametrize("killed", ["client", "front", "keeper"])
def test_nothing_outlives_the_client_or_the_launcher(killed: str) -> None:
    """F-BOX-1: a server that has left its session, and whoever is killed by SIGKILL."""
    client = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PACKAGE.parent,
    )
    assert client.stdout is not None
    words = client.stdout.readline().split()
    front, daemon, folder = int(words[0]), int(words[1]), Path(words[2])
    keeper = int(Path(f"/proc/{front}/task/{front}/children").read_text().split()[0])
    assert _is_running(daemon)
    if killed == "client":
        client.kill()
    if "front" in killed:
        os.kill(front, signal.SIGKILL)
    if "keeper" in killed and _is_running(keeper):
        os.kill(keeper, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while (_is_running(daemon) or _is_running(keeper)) and time.monotonic() < deadline:
        time.sleep(0.01)  # for the kernel, which does not report its end
    assert not _is_running(daemon)
    assert not _is_running(keeper)
    client.kill()
    client.communicate()
    if "keeper" not in killed:
        assert not folder.exists()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def test_where_the_system_cannot_confine_nothing_starts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-BOX-2: never weaker than asked without saying so."""
    command = [sys.executable, "-c", "pass"]
    with pytest.raises(SandboxUnavailable) as caught:
        confined(Sandbox(), command, {}, "", sys.executable, "win32")
    assert str(caught.value) == (
        "the server cannot be confined: win32 cannot deny a program files and network"
    )
    with caplog.at_level(logging.WARNING):
        started = confined(
            Sandbox(best_effort=True), command, {"A": "b"}, "", sys.executable, "win32"
        )
    assert started == ([sys.executable, "-c", "pass"], {"A": "b"}, ())
    assert "runs without a sandbox: win32 cannot deny" in caplog.text
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert shortcoming("linux") == "there is no system call filter for riscv64"


@pytest.mark.parametrize("name", ["read", "write"])
def test_a_path_that_does_not_exist_is_told(name: str, tmp_path: Path) -> None:
    """F-BOX-1"""
    sandbox = Sandbox(**{name: [tmp_path / "nothing"]})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"{name} of the sandbox names .*, which does not exist"):
        confined(sandbox, ["true"], {}, "", "/bin/true")


def test_macos_has_a_profile_that_denies_the_rest() -> None:
    """F-BOX-2"""
    profile = mac_profile(["/usr"], ['/private/a "b"'], network=False)
    assert "(deny default)" in profile
    assert '(subpath "/private/a \\"b\\"")' in profile
    assert "network" not in profile
    assert "(allow network*)" in mac_profile([], [], network=True)


# bwrap shows a file system of its own, so what these do is done to that, and to its first process.
ELSEWHERE = {
    *("list_a_folder", "write_a_file", "make_a_file", "rename_a_file_out"),
    "end_the_launcher",
}


@pytest.mark.slow
@pytest.mark.needs_landlock
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
@pytest.mark.parametrize("way", [way for way in hostile.WAYS if way not in LIMITS])
def test_with_bwrap_a_hostile_server_does_not_get_out(
    way: str, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BOX-2: where the kernel has no Landlock."""
    monkeypatch.setattr(confine, "shortcoming", lambda system: "the kernel does not allow Landlock")
    monkeypatch.chdir(outside)  # It is not granted.
    facts = (outside / "facts.json").read_text()
    code, output, errors = run(
        [sys.executable, str(HOSTILE), way, str(outside)],
        Sandbox([outside / "facts.json"]),
        {"LD_PRELOAD": "/no/such.so"},
    )
    if way not in ELSEWHERE:
        assert output.startswith("denied: "), (code, errors)
    assert (outside / "key").read_text() == "secret"
    assert {path.name for path in outside.iterdir()} == {"key", "facts.json"}
    assert (outside / "facts.json").read_text() == facts


def test_what_bwrap_cannot_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-BOX-2: and no program outside of the sandbox has the server's variables."""
    files: list[bytes] = []

    def keep(content: bytes) -> int:
        files.append(content)
        return 90

    monkeypatch.setattr(confine, "shortcoming", lambda system: "no Landlock")
    monkeypatch.setattr(confine, "MACHINES", {platform.machine(): 1})
    monkeypatch.setattr(confine, "syscall_filter", lambda machine, **options: b"filter")
    monkeypatch.setattr(confine, "_unnamed_file", keep)
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    with pytest.raises(SandboxUnavailable, match="and bwrap cannot limit memory and processes"):
        confined(Sandbox(memory="1G", processes=2), ["true"], {}, "/", "/bin/true", "linux")
    sandbox, env = Sandbox(network=True, seconds=3), {"TOKEN": "s3cret"}
    made = confined(sandbox, ["true", "x"], env, "/", "/bin/true", "linux")
    assert made.command[:4] == ["/usr/bin/timeout", "-s", "KILL", "3"]
    assert made.command[-6:] == ["/usr/bin/bwrap", "--args", "90", "--", "/bin/true", "x"]
    assert made.env == {"PATH": os.defpath}
    assert files[0] == b"filter"
    assert b"--setenv\0TOKEN\0s3cret\0" in files[1]
    assert b"--share-net\0" in files[1]
    assert "s3cret" not in repr(made)


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        ("ctypes", "this Python has no ctypes"),
        ("interpreter", "no Python interpreter to run the launcher with"),
    ],
)
def test_what_the_system_lacks_is_told(
    lacking: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BOX-2"""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(confine, lacking, (lambda: None) if lacking == "interpreter" else None)
    assert shortcoming("linux") == told
    assert shortcoming("win32") == "win32 cannot deny a program files and network"


class _System:
    """A C library whose kernel answers each system call by a table."""

    def __init__(self, **answers: int) -> None:
        self._answers = answers

    def prctl(self, *arguments: object) -> int:
        return 0

    def unshare(self, *arguments: object) -> int:
        return self._answers["unshare"]

    def syscall(self, number: int, attributes: object, *arguments: object) -> int:
        if number == 444 and attributes is not None:
            return -1  # no descriptor that the caller could close
        return self._answers[{444: "abi", 445: "add", 446: "restrict", 277: "filter"}[number]]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"abi": 4}, "the kernel has Landlock ABI 4; ABI 6 (Linux 6.12) is needed"),
        ({"abi": -1}, "the kernel does not allow Landlock; ABI 6 (Linux 6.12) is needed"),
        ({"add": -1}, "system calls of Landlock are not allowed here"),
        ({"restrict": -1}, "system calls of Landlock are not allowed here"),
        ({"filter": -1}, "the kernel does not allow system call filters (seccomp)"),
        (
            {"filter": -1, "errno": errno.EBUSY, "unshare": -1},
            "another program listens to system call filters here already",
        ),
        ({"filter": -1, "errno": errno.EBUSY}, ""),
    ],
)
def test_a_system_that_refuses_a_call_is_told_before_the_start(
    answers: dict[str, int], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BOX-2"""
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    fitting = {"abi": 6, "add": 0, "restrict": 0, "filter": -1, "unshare": 0, "errno": 1, **answers}
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: _System(**fitting))
    monkeypatch.setattr(ctypes, "get_errno", lambda: fitting["errno"])
    assert shortcoming("linux") == told
    monkeypatch.setattr(ctypes, "CDLL", failing)
    assert shortcoming("linux") == "the C library cannot be called: no libc"


def failing(*arguments: object, **options: object) -> None:
    raise OSError("no libc")


def test_a_frozen_program_is_no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-BOX-2: another Python runs the launcher, where there is one."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    assert confine.interpreter() == "/usr/bin/python3"
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    assert shortcoming("darwin") == "sandbox-exec is not installed"

"""The command that confines and runs a server, on each platform.

Linux: a launcher with Landlock and seccomp; where the kernel is too old for them, ``bwrap`` if it
is installed. macOS: ``sandbox-exec`` with a profile. Without any of these, a confined server is
started only with ``best_effort``.
"""

from __future__ import annotations

import errno
import marshal
import os
import platform
import shutil
import struct
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import SandboxUnavailable, UsageError
from ..framing.logs import logger_for
from .files import DEVICES, program_files, system_files
from .rights import Sandbox
from .syscall_filter import BROKERED, MACHINES, syscall_filter

try:
    import ctypes
except ImportError:  # a Python built without it
    ctypes = None  # type: ignore[assignment]

_logger = logger_for("mcpclient.sandbox")

# Landlock's ABI 6 (Linux 6.12) is the first that confines signals and abstract sockets.
_NEEDED_ABI = 6
_MAX_FILE_SIZE = 1 << 30


class Launch(NamedTuple):
    """The command to start; ``descriptors``: those it inherits, which the caller closes."""

    command: list[str]
    env: Mapping[str, str]
    descriptors: tuple[int, ...] = ()


def confined(
    sandbox: Sandbox,
    command: Sequence[str],
    env: Mapping[str, str],
    directory: str,
    executable: str,
    system: str = sys.platform,
) -> Launch:
    """Return the launch of ``command`` with the rights of ``sandbox`` and nothing more.

    ``env``: the server's whole environment. ``directory``: its working directory. ``executable``:
    the path of its program. Raises `UsageError` for a path that does not exist, and
    `SandboxUnavailable` where this system cannot deny all that the sandbox does not grant.
    """
    directory = os.path.abspath(directory or ".")
    read = [*system_files(), *program_files(command, env, directory, executable)]
    read += _granted(sandbox.read, directory, "read")
    write = _granted(sandbox.write, directory, "write")
    executable = os.path.join(directory, executable)
    missing = shortcoming(system)
    if missing and system.startswith("linux") and platform.machine() in MACHINES:
        uncounted = [name for name in ("memory", "processes") if getattr(sandbox, name)]
        if shutil.which("bwrap") and shutil.which("prlimit"):
            if not uncounted or sandbox.best_effort:
                return _with_bwrap(sandbox, [executable, *command[1:]], env, directory, read, write)
            missing = f"{missing}, and bwrap cannot limit {' and '.join(uncounted)}"
    if missing:
        if not sandbox.best_effort:
            raise SandboxUnavailable(missing)
        _logger.warning("%s runs without a sandbox: %s", command[0], missing)
        return Launch([executable, *command[1:]], env)
    if system == "darwin":
        profile = mac_profile(read, write, network=sandbox.network)
        return Launch(["/usr/bin/sandbox-exec", "-p", profile, executable, *command[1:]], env)
    return _with_launcher(sandbox, env, read, write, executable, command)


def shortcoming(system: str) -> str:
    """Return the reason why this system cannot confine a server by itself, or ""."""
    if system == "darwin":
        return "" if os.path.exists("/usr/bin/sandbox-exec") else "sandbox-exec is not installed"
    if not system.startswith("linux"):
        return f"{system} cannot deny a program files and network"
    if platform.machine() not in MACHINES:
        return f"there is no system call filter for {platform.machine()}"
    if interpreter() is None:
        return "no Python interpreter to run the launcher with"
    if ctypes is None:
        return "this Python has no ctypes"
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        abi = libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError as error:
        return f"the C library cannot be called: {error}"
    if abi < _NEEDED_ABI:
        has = f"has Landlock ABI {abi}" if abi > 0 else "does not allow Landlock"
        return f"the kernel {has}; ABI {_NEEDED_ABI} (Linux 6.12) is needed"
    refused: list[str] = []
    # Some containers refuse single calls. What a thread does to itself ends with the thread.
    thread = threading.Thread(target=_try_to_confine, args=(libc, refused))
    thread.start()
    thread.join()
    if refused:
        return refused[0]
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return "the kernel does not list the children of a process"
    return ""


def _try_to_confine(libc: Any, refused: list[str]) -> None:
    """Confine this thread as the launcher confines a server, and append the reason if it fails."""
    assert ctypes is not None
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    ruleset = libc.syscall(444, struct.pack("=QQQ", 1, 0, 3), ctypes.c_size_t(24), ctypes.c_uint(0))
    folder = os.open("/", os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", 1, folder)
    added = libc.syscall(445, ruleset, 1, rule, ctypes.c_uint(0))
    entered = libc.syscall(446, ruleset, ctypes.c_uint(0))
    os.close(folder)
    if ruleset >= 0:
        os.close(ruleset)
    if added or entered:
        refused.append("system calls of Landlock are not allowed here")
        return
    program = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000), 8)
    filter_of = struct.pack("@HxxxxxxQ", 1, ctypes.addressof(program))
    number = 317 if platform.machine() == "x86_64" else 277
    listener = libc.syscall(number, ctypes.c_uint(1), ctypes.c_uint(8), filter_of)
    if listener >= 0:
        os.close(listener)
    elif ctypes.get_errno() != errno.EBUSY:
        refused.append("the kernel does not allow system call filters (seccomp)")
    elif libc.unshare(0x20000):  # without mounts of its own, the launcher listens to a filter
        refused.append("another program listens to system call filters here already")


def interpreter() -> str | None:
    """Return an interpreter for the launcher; a frozen program is not one."""
    own = "" if getattr(sys, "frozen", False) else sys.executable
    return own or shutil.which("python3")


def _granted(paths: Sequence[str | os.PathLike[str]], directory: str, name: str) -> list[str]:
    found = []
    for given in paths:
        path = os.fspath(given)
        full = os.path.realpath(os.path.join(directory, os.path.expanduser(path)))
        if not os.path.exists(full):
            if path.startswith("~"):  # not every user of a named set has all of its folders
                continue
            raise UsageError(f"{name} of the sandbox names {path!r}, which does not exist")
        found.append(full)
    return found


def _with_launcher(
    sandbox: Sandbox,
    env: Mapping[str, str],
    read: Sequence[str],
    write: Sequence[str],
    executable: str,
    command: Sequence[str],
) -> Launch:
    """Return the launcher's command. Its orders hold secrets, so an unnamed file passes them."""
    machine = platform.machine()
    options = {"network": sandbox.network, "memory": sandbox.memory is not None}
    orders = {  # values that `marshal` carries between Pythons
        "client": os.getpid(),
        "machine": machine,
        "executable": os.fsencode(executable),
        "arguments": [os.fsencode(word) for word in command],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
        "temporary": tempfile.gettempdir(),
        "read": [os.fsencode(path) for path in read],
        "write": [os.fsencode(path) for path in write],
        "devices": [path.encode() for path in DEVICES],
        "network": sandbox.network,
        "filter": syscall_filter(machine, brokered=False, **options),
        "brokered filter": syscall_filter(machine, brokered=True, **options),
        "brokered": BROKERED[machine],
        "memory": sandbox.memory or 0,
        "processes": sandbox.processes or 0,
        "seconds": sandbox.seconds or 0,
        "file_size": _MAX_FILE_SIZE,
    }
    file = _unnamed_file(marshal.dumps(orders, 2))
    folder, name = os.path.split(os.path.dirname(os.path.abspath(__file__)))  # or of an archive
    source = f"import sys; sys.path.append(sys.argv[1]); from {name}.launcher import main; main()"
    python = interpreter()
    assert python is not None
    # The launcher's own environment is empty: the server's variables may name libraries to load.
    return Launch([python, "-I", "-S", "-c", source, folder, str(file)], {}, (file,))


def _with_bwrap(
    sandbox: Sandbox,
    command: Sequence[str],
    env: Mapping[str, str],
    directory: str,
    read: Sequence[str],
    write: Sequence[str],
) -> Launch:
    """Return a command of bubblewrap, whose file system holds only the granted paths."""
    words = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", directory]
    words += ["--chdir", directory]
    words += ["--share-net"] if sandbox.network else []
    for path in read:
        if not path.startswith(("/proc", "/sys")):
            words += ["--ro-bind-try", path, path]
    for path in write:
        words += ["--bind", path, path]
    for link in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(link):
            words += ["--symlink", os.readlink(link), link]
    # Namespaces allow every system call: the filter denies those that reach beyond them.
    options = {"network": sandbox.network, "memory": False, "brokered": False}
    file = _unnamed_file(syscall_filter(platform.machine(), **options))
    words += ["--seccomp", str(file), "--clearenv"]
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), "/tmp")
    for name, value in {**env, **temporary}.items():
        words += ["--setenv", name, value]
    # The server's variables may hold secrets and change what a program loads, so bwrap reads them
    # from a file, and no program outside the sandbox has them.
    arguments = _unnamed_file(b"".join(os.fsencode(word) + b"\0" for word in words))
    limits = [_found("prlimit"), "--core=0", f"--fsize={_MAX_FILE_SIZE}"]
    if sandbox.seconds:
        limits = [_found("timeout"), "-s", "KILL", str(sandbox.seconds), *limits]
    started = [*limits, _found("bwrap"), "--args", str(arguments), "--", *command]
    return Launch(started, {"PATH": os.defpath}, (file, arguments))


def _found(program: str) -> str:
    return shutil.which(program) or program


def _unnamed_file(content: bytes) -> int:
    """Return the descriptor of a file without a name, to be inherited and read from its start."""
    file = os.memfd_create("mcpclient-sandbox", 0)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def mac_profile(read: Sequence[str], write: Sequence[str], *, network: bool) -> str:
    """Return a profile for ``sandbox-exec`` (macOS), which denies everything else."""

    def paths(names: Sequence[str]) -> str:
        quoted = (name.replace("\\", "\\\\").replace('"', '\\"') for name in names)
        return " ".join(f'(subpath "{name}")' for name in quoted)

    system = ("/System", "/Library/Apple", "/usr", "/bin", "/private/var/db/timezone", "/dev")
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork process-exec*)",
        "(allow sysctl-read mach-lookup signal (target same-sandbox))",
        "(allow file-read-metadata)",
        f"(allow file-read* {paths([*system, *read, *write])})",
        f'(allow file-write* {paths(write)} (literal "/dev/null"))',
    ]
    return "\n".join([*rules, "(allow network*)"] if network else rules)

"""A stand-alone program that confines itself by its orders and becomes the server.

It is run as ``python -I -S launcher.py FD``, or by its source where the package is in an archive.
It imports nothing of this package, and as little as possible, since its start delays the server's.
FD holds its orders, made by `confine`.

Three processes, so that nothing outlives the client, whichever of them is killed:

- the front, which the client sees: it passes signals on and ends as the server ends. When the
  client dies, or the front is killed, a parent-death signal reaches the keeper.
- the keeper, in a session of its own: it adopts orphans of the server (a "subreaper"),
  decides on the system calls that the filter hands to it, watches limits, and kills everything
  when the server ends or the front dies.
- the server, which confines itself before it executes the command.

Source: Documentation/userspace-api/landlock.rst and seccomp_filter.rst of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import resource
import select
import struct
import sys
import time
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socketpair
from fcntl import ioctl
from signal import SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1, set_wakeup_fd, signal

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes a third of the launcher's time
    from typing import Any, NoReturn

_PREFIX = "[mcpclient sandbox]"

_SET_PARENT_DEATH_SIGNAL, _SET_SECUREBITS, _DROP_BOUNDING, _SET_SUBREAPER = 1, 28, 24, 36
_SET_NO_NEW_PRIVS, _AMBIENT, _AMBIENT_CLEAR = 38, 47, 4
# SECBIT_NOROOT and SECBIT_NO_SETUID_FIXUP, both locked: even root's programs get no capabilities.
_NO_ROOT_SECUREBITS = 0b1111
_CAPABILITY_VERSION = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_FILTER_MODE, _NEW_LISTENER = 1, 8
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_BENEATH_PATH = 1
_RECEIVE, _ANSWER, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = -100, 0x100, 0x1000
_SET_ID_BITS = 0o6000

# Rights of Landlock's ABI 5 and 6. MAKE_CHAR (6) and MAKE_BLOCK (11), devices, are never granted.
_ALL_FILE_RIGHTS, _ALL_TCP_RIGHTS, _ALL_SCOPES = (1 << 16) - 1, 0b11, 0b11
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_WRITE = _ALL_FILE_RIGHTS & ~(1 << 6 | 1 << 11 | 1 << 15)
# What a rule about one file can hold: execute, write, read, truncate, device ioctl.
_OF_A_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

_LIMIT_PERIOD = 0.2
# Private mappings that a process may have beyond the memory it may use: stacks and reserves.
_DATA_SLACK = 512 * 1024 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


def _system_call(number: int, *arguments: Any) -> int:
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def _control(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(ctypes.c_int(option), *padded) < 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def _say(text: str) -> None:
    os.write(2, f"{_PREFIX} {text}\n".encode("utf-8", "replace"))


def _drop_streams(count: int) -> None:
    """Close our copies of the server's streams: the client sees EOF when the server ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(count):
        os.dup2(null, stream)
    os.close(null)


# The front


def main() -> NoReturn:
    """Run the three processes; end as the server ends."""
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        orders: dict[str, Any] = marshal.load(file)
    _control(_SET_SUBREAPER, 1)
    front = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        _Keeper(orders, front).run()
    for number in (SIGTERM, SIGINT, SIGHUP):
        signal(number, lambda number, frame: _pass_on(keeper, number))
    # The signal also comes when the thread that started us ends and its process lives on.
    signal(SIGUSR1, lambda *_: _end_without(orders["client"], keeper))
    _control(_SET_PARENT_DEATH_SIGNAL, SIGUSR1)
    _end_without(orders["client"], keeper)
    _drop_streams(3)
    while True:
        process, status = os.waitpid(-1, 0)
        if process == keeper:
            _kill_descendants()  # there are some only if the keeper was killed
            _end_as(status)


def _pass_on(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _end_without(client: int, keeper: int) -> None:
    if os.getppid() != client:
        _pass_on(keeper, SIGUSR1)


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != SIGKILL:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal(number, 0)  # SIG_DFL
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


def _descendants() -> list[int]:
    """Return the processes below this one: `_control` makes orphans its children."""
    found, queue = [], [os.getpid()]
    while queue:
        process = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{process}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{process}/task/{task}/children", "rb") as file:
                    children = [int(each) for each in file.read().split()]
            except OSError:
                continue  # it ended meanwhile
            found += children
            queue += children
    return found


def _reap() -> dict[int, int]:
    ended: dict[int, int] = {}
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if process == 0:
            return ended
        ended[process] = status


def _kill_descendants() -> None:
    # All are stopped first, so that none forks while the others are being killed.
    for number in (19, SIGKILL):  # SIGSTOP
        for process in _descendants():
            _pass_on(process, number)
    while _descendants():
        for process in _descendants():
            _pass_on(process, SIGKILL)
        _reap()
        time.sleep(0.001)


def _remove(folder: str) -> None:
    """Remove a folder and its content without following links; no process uses it any more."""
    try:
        os.chmod(folder, 0o700)
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
        os.rmdir(folder)
    except OSError:
        pass  # it stays in the folder for temporary files


# The keeper


class _Keeper:
    """Adopts, watches and ends the server's processes, and decides on their system calls."""

    def __init__(self, orders: dict[str, Any], front: int) -> None:
        self._orders = orders
        self._front = front
        self._deadline = time.monotonic() + (orders["seconds"] or float("inf"))
        self._is_over = False
        self._told: set[str] = set()
        self._folder = os.path.join(orders["temporary"], f"mcpclient-{os.urandom(12).hex()}")
        self._writable = [os.fsdecode(path) for path in (*orders["write"], self._folder.encode())]

    def run(self) -> NoReturn:
        os.setsid()
        _control(_SET_SUBREAPER, 1)
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal(SIGCHLD, lambda *_: None)
        signal(SIGUSR1, self._finish)
        signal(SIGHUP, lambda *_: None)
        _control(_SET_PARENT_DEATH_SIGNAL, SIGUSR1)
        os.mkdir(self._folder, 0o700)
        ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
        server = os.fork()
        if server == 0:
            ours.close()
            _become_server(self._orders, self._folder, theirs)
        theirs.close()
        for number in (SIGTERM, SIGINT):
            signal(number, lambda number, frame: self._pass_on(server, number))
        if os.getppid() != self._front:
            self._finish()
        listener = _received_descriptor(ours)
        ours.close()
        _drop_streams(2)  # stderr stays open, for reports of denied rights
        status = self._serve(server, wake, listener)
        self._finish(status=status)

    def _pass_on(self, server: int, number: int) -> None:
        try:
            os.killpg(server, number)
        except ProcessLookupError:
            _pass_on(server, number)  # it has not made its own group yet

    def _finish(self, *_: object, status: int = SIGKILL) -> NoReturn:
        """Kill the remaining processes, remove the server's folder, and end as the server ended."""
        self._is_over = True
        _kill_descendants()
        _remove(self._folder)
        _end_as(status)

    def _serve(self, server: int, wake: int, listener: int | None) -> int:
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        if listener is not None:
            poll.register(listener, select.POLLIN)
        is_limited = self._orders["memory"] or self._orders["seconds"]
        while True:
            ready = dict(poll.poll(_LIMIT_PERIOD * 1000 if is_limited else None))
            if listener is not None and ready.get(listener, 0) & select.POLLIN:
                self._answer(listener)
            elif listener in ready:  # no process is left that has the filter
                poll.unregister(listener)
            if wake in ready:
                os.read(wake, 4096)
                ended = _reap()
                if server in ended:
                    return ended[server]
            if is_limited and self._exceeds_limits():
                return int(SIGKILL)

    def _exceeds_limits(self) -> bool:
        if time.monotonic() > self._deadline:
            _say(f"the server was ended after {self._orders['seconds']} seconds")
            return True
        memory = self._orders["memory"]
        if memory and sum(map(_memory_of, _descendants())) > memory:
            _say(f"the server was ended: it used more than {memory >> 20} MiB of memory")
            return True
        return False

    # System calls

    def _answer(self, listener: int) -> None:
        request = bytearray(80)
        try:
            ioctl(listener, _RECEIVE, request, True)
        except OSError:
            return  # the process was killed meanwhile
        notice, process, _, number, _, _, *arguments = struct.unpack("=QIIiIQ6Q", request)
        name = self._orders["brokered"].get(number, "")
        try:
            error, flags = self._judged(name, process, arguments, listener, notice)
        except OSError as failure:
            error, flags = failure.errno or errno.EPERM, 0
        try:
            ioctl(listener, _ANSWER, struct.pack("=QqiI", notice, 0, -error, flags))
        except OSError:
            pass  # as above

    def _judged(
        self, name: str, process: int, arguments: list[int], listener: int, notice: int
    ) -> tuple[int, int]:
        """Return the errno of a system call, 0 for success, or 1 to let the kernel continue it."""
        if name == "socket":
            # C libraries try a name service at a Unix socket, and continue without it.
            if arguments[0] != AF_UNIX:
                self._tell("network", "a connection to the network was denied")
            return errno.EACCES, 0
        if name in ("clone", "fork", "vfork"):
            limit = self._orders["processes"]
            if self._is_over or (limit and len(_descendants()) >= limit):
                self._tell("processes", f"more than {limit} processes were denied")
                return errno.EAGAIN, 0
            return 0, 1
        place = _place(name, process, arguments)
        # Fails if the process has ended: then its id may be another one's by now.
        ioctl(listener, _IS_VALID, struct.pack("=Q", notice))
        self._change_mode(*place)
        return 0, 0

    def _change_mode(self, folder: str, path: str, mode: int, follow: bool) -> None:
        """Change the mode of a file below a folder that the server may write to."""
        opened = [os.open(folder, os.O_PATH)]
        try:
            if path:
                flags = os.O_PATH | (0 if follow else os.O_NOFOLLOW)
                opened.append(os.open(path, flags, dir_fd=opened[0]))
            file = f"/proc/self/fd/{opened[-1]}"
            real = os.readlink(file)
            if not any(real == root or real.startswith(root + "/") for root in self._writable):
                self._tell("write", f"a change of the mode of {real!a} was denied")
                raise PermissionError(errno.EACCES, "outside")
            if mode & _SET_ID_BITS:
                raise PermissionError(errno.EPERM, "set-user-ID")
            os.chmod(file, mode & 0o7777)
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _tell(self, right: str, text: str) -> None:
        """Report a denial, once for each right: the server's own error rarely names it."""
        if right not in self._told and not self._is_over:
            self._told.add(right)
            _say(f"{text}; the right it needs is {right!r}")


def _memory_of(process: int) -> int:
    """Return the memory of a process in bytes, with its share of shared memory (PSS)."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # it has ended
    return 0


def _place(name: str, process: int, arguments: list[int]) -> tuple[str, str, int, bool]:
    """Return the folder, path and mode of a chmod, and whether it follows links."""
    if name == "fchmod":
        return f"/proc/{process}/fd/{arguments[0] & 0xFFFFFFFF}", "", arguments[1], True
    folder, flags = f"/proc/{process}/cwd", 0
    if name != "chmod":
        descriptor = ctypes.c_int(arguments.pop(0)).value
        flags = arguments[2] if name == "fchmodat2" else 0
        if descriptor != _AT_FDCWD:
            folder = f"/proc/{process}/fd/{descriptor}"
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        path = os.fsdecode(_string_at(memory.fileno(), arguments[0]))
    if not path and not flags & _AT_EMPTY_PATH:
        raise OSError(errno.ENOENT, "empty path")
    for own in ("/proc/self/", "/proc/thread-self/"):  # the caller's, not ours
        if path.startswith(own):
            path = f"/proc/{process}/{path[len(own) :]}"
    return folder, path, arguments[1], not flags & _AT_SYMLINK_NOFOLLOW


def _string_at(memory: int, address: int) -> bytes:
    found = b""
    while b"\0" not in found and len(found) < 4096:
        # As far as the end of the page: the next one may not be there.
        found += os.pread(memory, 4096 - (address + len(found)) % 4096, address + len(found))
    return found.partition(b"\0")[0]


def _received_descriptor(connection: Any) -> int | None:
    """Return the filter's descriptor, None where the server could not be confined."""
    _, ancillary, _, _ = connection.recvmsg(1, 64)
    for _, _, data in ancillary:
        return int(struct.unpack("=i", data[:4])[0])
    return None


# The server


def _become_server(orders: dict[str, Any], folder: str, connection: Any) -> NoReturn:
    try:
        os.setsid()
        set_wakeup_fd(-1)
        for number in (SIGCHLD, SIGUSR1, SIGHUP):
            signal(number, 0)  # SIG_DFL
        _control(_SET_PARENT_DEATH_SIGNAL, SIGKILL)
        _limit(orders)
        if os.geteuid() == 0:
            _drop_capabilities(orders["machine"])
        _control(_SET_NO_NEW_PRIVS, 1)
        os.set_inheritable(connection.fileno(), False)
        _confine_files([*orders["write"], os.fsencode(folder)], orders)
        environment = {**orders["env"]}
        environment.update(dict.fromkeys((b"TMPDIR", b"TMP", b"TEMP"), os.fsencode(folder)))
        os.closerange(3, connection.fileno())
        os.closerange(connection.fileno() + 1, 1 << 16)
        _install(orders, connection)
        connection.close()
        os.execve(orders["executable"], orders["arguments"], environment)
    except BaseException as error:
        _say(f"cannot start the server: {error}")
    finally:
        os._exit(126)


def _limit(orders: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limits = [(resource.RLIMIT_FSIZE, orders["file_size"])]
    if orders["memory"]:
        limits.append((resource.RLIMIT_DATA, orders["memory"] + _DATA_SLACK))
    for limit, value in limits:
        hard = resource.getrlimit(limit)[1]
        if hard == resource.RLIM_INFINITY or value < hard:
            resource.setrlimit(limit, (value, value))


def _drop_capabilities(machine: str) -> None:
    try:
        _control(_SET_SECUREBITS, _NO_ROOT_SECUREBITS)
        for capability in range(64):
            try:
                _control(_DROP_BOUNDING, capability)
            except OSError:
                break  # the kernel knows no more
        _control(_AMBIENT, _AMBIENT_CLEAR)
    except PermissionError:
        pass  # root without this capability has few others, which are dropped below
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _system_call(_CAPSET[machine], header, bytes(24))


def _confine_files(writable: list[bytes], orders: dict[str, Any]) -> None:
    tcp = 0 if orders["network"] else _ALL_TCP_RIGHTS
    attributes = struct.pack("=QQQ", _ALL_FILE_RIGHTS, tcp, _ALL_SCOPES)
    ruleset = _system_call(_CREATE_RULESET, attributes, ctypes.c_size_t(24), ctypes.c_uint(0))
    rules = [(path, _READ) for path in (*orders["read"], b"/proc/%d" % os.getpid())]
    rules += [(path, _WRITE) for path in writable]
    rules += [(path, _READ | _WRITE | 1 << 15) for path in orders["devices"]]
    for path, rights in rules:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        if not os.path.isdir(path):
            rights &= _OF_A_FILE
        rule = struct.pack("=Qi", rights, descriptor)
        _system_call(
            _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_BENEATH_PATH), rule, ctypes.c_uint(0)
        )
        os.close(descriptor)
    _system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)


def _install(orders: dict[str, Any], connection: Any) -> None:
    program = ctypes.create_string_buffer(orders["filter"], len(orders["filter"]))
    filter_of = struct.pack("@HxxxxxxQ", len(orders["filter"]) // 8, ctypes.addressof(program))
    listener = _system_call(
        _SECCOMP[orders["machine"]],
        ctypes.c_uint(_FILTER_MODE),
        ctypes.c_uint(_NEW_LISTENER),
        filter_of,
    )
    connection.sendmsg([b"!"], [(SOL_SOCKET, SCM_RIGHTS, struct.pack("=i", listener))])
    os.close(listener)


if __name__ == "__main__":
    main()

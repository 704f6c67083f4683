"""A stand-alone program that confines itself by its orders and becomes the server.

It is run by ``python -I -S``, with ``sandbox`` as its package: it imports nothing else of ours, and
as little as possible, since its start delays the server's. Its orders are made by `confine`.

Three processes, so that nothing outlives the client, whichever of them is killed:

- the front, which the client sees: it passes signals on and ends as the server ends. When the
  client dies, or the front is killed, a parent-death signal reaches the keeper.
- the keeper, in a session of its own: it adopts orphans of the server (a "subreaper"), watches
  limits, and kills everything when the server ends or the front dies. For an ordinary user it is
  the first process of a namespace, where the system allows that.
- the server, which confines itself before it executes the command.

The kernel decides on every system call of the server by itself. A call that waited for the keeper
could be interrupted by a signal, and programs do not expect EINTR of fork, socket or chmod.
Only where there are no mount namespaces does the keeper decide: on changes of modes.

Source: Documentation/userspace-api/landlock.rst and seccomp_filter.rst of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import select
import signal
import struct
import sys
import time
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socketpair
from fcntl import ioctl
from resource import RLIMIT_CORE, setrlimit

from .restrictions import (
    AT_FDCWD,
    SET_ID_BITS,
    SET_PARENT_DEATH_SIGNAL,
    SET_SUBREAPER,
    confine_signals,
    control,
    fork_apart,
    restrict,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes a third of the launcher's time
    from typing import Any, NoReturn

_PREFIX = "[mcpclient sandbox]"
# Seconds between checks of memory and time. Processes are counted as soon as one has started.
_LIMIT_PERIOD, _START_PERIOD = 0.2, 0.01
_RECEIVE, _ANSWER, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = 0x100, 0x1000
# Passed on to the server, once each process has a handler: until then they wait.
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
    with os.fdopen(int(sys.argv[-1]), "rb") as file:
        orders: dict[str, Any] = marshal.load(file)
    control(SET_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        confine_signals()
        keeper, news = _start_keeper(orders)
    except OSError as error:
        _say(f"cannot start the server: {error}")
        os._exit(126)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, frame: _pass_on(keeper, number))
    # The signal also comes when the thread that started us ends and its process lives on.
    signal.signal(signal.SIGUSR1, lambda *_: _end_without(orders["client"], keeper))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    control(SET_PARENT_DEATH_SIGNAL, signal.SIGUSR1)
    _end_without(orders["client"], keeper)
    _drop_streams(3)
    while True:
        process, status = os.waitpid(-1, 0)
        if process == keeper:
            _kill_all()  # there are others only if the keeper was killed
            told = os.read(news, 4)
            _end_as(struct.unpack("=i", told)[0] if told else status)


def _start_keeper(orders: dict[str, Any]) -> tuple[int, int]:
    """Return the keeper's process, and a pipe that gets the status of the server when it ends."""
    for is_apart in (os.geteuid() != 0, False):
        news, told = os.pipe()
        keeper = fork_apart(orders["machine"]) if is_apart else os.fork()
        if keeper == 0:
            os.close(news)
            _Keeper(orders, told, is_apart).run()
        os.close(told)
        if os.read(news, 1):
            return keeper, news
        os.close(news)
    raise OSError(errno.ECHILD, "the launcher was killed")


def _kill_all() -> None:
    """Kill all processes below this one, and reap them.

    The kernel sends this signal in one step, during which no process can fork: killing one after
    the other loses against a program that only forks.
    """
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _pass_on(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _end_without(client: int, keeper: int) -> None:
    if os.getppid() != client:
        _pass_on(keeper, signal.SIGUSR1)


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            setrlimit(RLIMIT_CORE, (0, 0))
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


def _descendants() -> list[int]:
    """Return the processes below this one, a "subreaper": orphans become its children."""
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
    """Adopts, watches and ends the server's processes."""

    def __init__(self, orders: dict[str, Any], told: int, is_apart: bool) -> None:
        self._orders = orders
        self._told = told
        self._is_apart = is_apart
        self._load = os.open("/proc/loadavg", os.O_RDONLY)
        self._newest, self._next_check = b"", 0.0
        self._deadline = time.monotonic() + (orders["seconds"] or float("inf"))
        self._folder = os.path.join(orders["temporary"], f"mcpclient-{os.urandom(12).hex()}")
        self._writable = [os.fsdecode(path) for path in (*orders["write"], self._folder.encode())]

    def run(self) -> NoReturn:
        os.setsid()
        control(SET_SUBREAPER, 1)
        if not self._is_apart:  # signals do not leave a namespace anyway
            confine_signals()
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGUSR1, self._finish)
        signal.signal(signal.SIGHUP, lambda *_: None)
        control(SET_PARENT_DEATH_SIGNAL, signal.SIGUSR1)
        os.write(self._told, b"!")  # fails where the front has died before
        os.mkdir(self._folder, 0o700)
        ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
        server = os.fork()
        if server == 0:
            ours.close()
            _become_server(self._orders, self._folder, theirs, self._is_apart)
        theirs.close()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: self._pass_on(server, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
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

    def _finish(self, *_: object, status: int = signal.SIGKILL) -> NoReturn:
        """Kill the remaining processes, remove the server's folder, and tell how the server ended.

        The first process of a namespace cannot end by a signal as the server did.
        """
        _kill_all()
        _remove(self._folder)
        try:
            os.write(self._told, struct.pack("=i", status))
        finally:
            os._exit(0)

    def _serve(self, server: int, wake: int, listener: int | None) -> int:
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        if listener is not None:
            poll.register(listener, select.POLLIN)
        is_limited = any(self._orders[limit] for limit in ("memory", "processes", "seconds"))
        period = _START_PERIOD if self._orders["processes"] else _LIMIT_PERIOD
        while True:
            ready = dict(poll.poll(period * 1000 if is_limited else None))
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
                return int(signal.SIGKILL)

    def _exceeds_limits(self) -> bool:
        is_due = time.monotonic() >= self._next_check
        memory, most = self._orders["memory"], self._orders["processes"]
        processes = _descendants() if is_due or (most and self._has_news()) else []
        if most and len(processes) > most:
            return _end(f"it had more than {most} processes")
        if not is_due:
            return False
        self._next_check = time.monotonic() + _LIMIT_PERIOD
        if memory and sum(map(_memory_of, processes)) > memory:
            return _end(f"it used more than {memory >> 20} MiB of memory")
        if time.monotonic() > self._deadline:
            return _end(f"its {self._orders['seconds']} seconds are over")
        return False

    def _has_news(self) -> bool:
        """Return whether any process of the system has started since the last time."""
        newest = os.pread(self._load, 100, 0).split()[-1]
        self._newest, before = newest, self._newest
        return newest != before

    # Changes of modes, where there are no mount namespaces

    def _answer(self, listener: int) -> None:
        request = bytearray(80)
        try:
            ioctl(listener, _RECEIVE, request, True)
        except OSError:
            return  # the process was killed meanwhile
        notice, process, _, number, _, _, *arguments = struct.unpack("=QIIiIQ6Q", request)
        name = self._orders["brokered"].get(number, "")
        try:
            place = _place(name, process, arguments)
            # Fails if the process has ended: then its id may be another one's by now.
            ioctl(listener, _IS_VALID, struct.pack("=Q", notice))
            self._change_mode(*place)
            error = 0
        except OSError as failure:
            error = failure.errno or errno.EPERM
        try:
            ioctl(listener, _ANSWER, struct.pack("=QqiI", notice, 0, -error, 0))
        except OSError:
            pass  # as above

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
                raise PermissionError(errno.EACCES, "outside")
            if mode & SET_ID_BITS:
                raise PermissionError(errno.EPERM, "set-user-ID")
            os.chmod(file, mode & 0o7777)
        finally:
            for descriptor in opened:
                os.close(descriptor)


def _end(reason: str) -> bool:
    _say(f"the server was ended: {reason}")
    return True


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
        if descriptor != AT_FDCWD:
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


def _become_server(
    orders: dict[str, Any], folder: str, connection: Any, is_apart: bool
) -> NoReturn:
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        # Python itself ignores SIGPIPE.
        for number in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        os.closerange(3, connection.fileno())
        os.closerange(connection.fileno() + 1, 1 << 16)
        writable = [*orders["write"], os.fsencode(folder)]
        listener = restrict(orders, writable, is_apart=is_apart)
        if listener is not None:
            connection.sendmsg([b"!"], [(SOL_SOCKET, SCM_RIGHTS, struct.pack("=i", listener))])
            os.close(listener)
        connection.close()
        environment = {**orders["env"]}
        environment.update(dict.fromkeys((b"TMPDIR", b"TMP", b"TEMP"), os.fsencode(folder)))
        os.execve(orders["executable"], orders["arguments"], environment)
    except BaseException as error:
        _say(f"cannot start the server: {error}")
    finally:
        os._exit(126)

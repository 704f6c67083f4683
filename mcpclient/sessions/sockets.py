"""The sockets of sessions that stay, in a private folder of their user.

A session called NAME has ``NAME.link``, a socket for JSON lines, ``NAME.run``, a socket for
commands (see `sessions.forks`), and ``NAME.log``. A session exists if its socket does. On
Windows ``NAME.link`` is a private file with a port of the loopback interface and a token, and
there is no ``NAME.run``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError
from ..net.files import make_private, make_private_folder
from ..net.futures import call_in_thread
from ..net.regular_files import open_regular
from ..version import __version__
from .front import is_private, is_session_name, peer_user, sessions_folder

if sys.platform != "win32":
    import fcntl

# Seconds that the process of a session may take to answer a question, or to end.
_ANSWERS_WITHIN = 10.0

_MAX_LOG = 1024 * 1024

# The last byte on stdout of a session's process, which is open then.
_OPEN = b"\0"


# Bytes of the path of a socket; Windows has none.
_LONGEST = {"linux": 107, "win32": 1 << 15}
_LONGEST_OF_OTHERS = 103


class Place(NamedTuple):
    """The files of a session.

    ``link``: the socket for JSON lines, or the file that says where it is. ``run``: the socket for
    commands. ``is_loopback``: it listens at a port, and not at a path.
    """

    folder: str
    name: str
    link: str
    run: str
    log: str
    is_loopback: bool

    @classmethod
    def of(cls, name: str, environ: Mapping[str, str], platform: str = sys.platform) -> Place:
        """Return the place of a session. Raises `UsageError` for a name or a path too long."""
        if not is_session_name(name):
            raise UsageError(f"@{name} cannot be the name of a session").advise(
                "Give up to 40 letters, digits, - and _."
            )
        folder = sessions_folder(environ, platform)
        link, run, log = (os.path.join(folder, f"{name}.{kind}") for kind in ("link", "run", "log"))
        length, longest = len(os.fsencode(link)), _LONGEST.get(platform, _LONGEST_OF_OTHERS)
        if length > longest:
            raise UsageError(
                f"{link!r} is too long for the path of a socket: {length} bytes, not {longest}"
            ).advise("Choose a shorter name, or set XDG_RUNTIME_DIR to a shorter path.")
        return cls(folder, name, link, run, log, platform == "win32")

    def port(self) -> tuple[int, str]:
        """Return the port to connect to, 0 for the path, and the token to send. Raises OSError."""
        if not self.is_loopback:
            return 0, ""
        port, _, token = Path(self.link).read_text("ascii").partition(" ")
        return int(port), token


def session_names(environ: Mapping[str, str], platform: str = sys.platform) -> list[str]:
    """Return the names of the sessions that have a socket, whether or not they still run.

    Raises `UsageError` for a folder that others may use.
    """
    folder = sessions_folder(environ, platform)
    try:
        files = os.listdir(folder)
    except OSError:
        return []
    check_private(folder)
    names = (file[: -len(".link")] for file in files if file.endswith(".link"))
    return sorted(filter(is_session_name, names))


def check_private(folder: str, *, create: bool = False) -> None:
    """Raise `UsageError` where others may use a folder; ``create``: make it if it is missing."""
    is_windows = sys.platform == "win32"  # where the user's own folders are private
    is_safe = True
    try:
        if create and not os.path.lexists(folder):  # in another user's folder none is made
            around = next(parent for parent in Path(folder).parents if parent.exists())
            is_safe = is_windows or around.stat().st_uid in (os.geteuid(), 0)
            if is_safe:
                make_private_folder(Path(folder))
        is_safe = is_safe and (is_windows or is_private(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot use the folder {folder!r}: {error.strerror}") from None
    if not is_safe:
        raise UsageError(
            f"other users may use {folder!r}, where sessions have their sockets"
        ).advise(f"chmod 700 {folder}, or set XDG_RUNTIME_DIR to a folder of your own.")


def open_own(path: str, flags: int) -> int:
    """Open a file in the folder of sessions, which is never a link. Raises `OSError`."""
    return open_regular(path, flags | getattr(os, "O_NOFOLLOW", 0))


def read_log(place: Place) -> bytes:
    """Return the stderr of a session's server, as far as it is kept.

    Raises `UsageError` where there is no log of this user.
    """
    check_private(place.folder)
    try:
        with open(open_own(place.log, os.O_RDONLY), "rb") as file:
            return file.read(_MAX_LOG)
    except OSError:
        raise UsageError(f"there is no log of a session @{place.name}") from None


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold the lock against other processes that open a session, or clean up after one."""
    path = os.path.join(folder, "lock")
    try:
        descriptor = open_own(path, os.O_WRONLY | os.O_CREAT)
    except OSError as error:
        raise UsageError(f"cannot lock {path!r}: {error.strerror}") from None
    with open(descriptor, "ab") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ask(place: Place, method: str) -> dict[str, Any] | None:
    """Ask the process of a session for its state, or to close; None if it does not run.

    A socket without a listener is removed. Raises `UsageError` for a process that does not answer,
    and for a folder or a process of another user.
    """
    check_private(place.folder)
    try:
        token = place.port()[1]
        with _connected(place) as connection:
            if not is_own_peer(connection):
                raise UsageError(f"@{place.name} is a session of another user")
            params = {"version": __version__, "token": token}
            line = json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
            connection.sendall(f"{line}\n".encode())
            with connection.makefile("rb") as file:  # to its end, when that is the process's own
                answer = file.read() if method.endswith("/close") else file.readline()
        found: dict[str, Any] | None = json.loads(answer)["result"] if answer else None
    except (ConnectionError, FileNotFoundError):
        clean(place)
        found = None
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"@{place.name} does not answer: {error}") from None
    return found


def _connected(place: Place) -> socket.socket:
    port, _ = place.port()
    if port:
        return socket.create_connection(("127.0.0.1", port), _ANSWERS_WITHIN)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_ANSWERS_WITHIN)
        connection.connect(place.link)
    except OSError:
        connection.close()
        raise
    return connection


def _is_live(place: Place) -> bool:
    try:
        _connected(place).close()
    except (ConnectionError, FileNotFoundError, ValueError):
        return False
    return True


def clean(place: Place) -> None:
    """Remove the sockets of a session that has ended, and has no successor; the log stays."""
    with suppress(OSError, UsageError), _locked(place.folder):
        if not _is_live(place):
            _remove(place)


def _remove(place: Place) -> None:
    for path in (place.link, place.run):
        with suppress(OSError):
            os.unlink(path)


def listen(place: Place) -> tuple[socket.socket, str]:
    """Return the listening socket of a new session, and the token that callers must send.

    Raises `UsageError` for a name that is open, and for a folder that others may use.
    """
    check_private(place.folder, create=True)
    with _locked(place.folder):
        if _is_live(place):
            raise UsageError(f"@{place.name} is open already").advise(
                f"Use it, close it with: mcpclient close @{place.name}, or choose another name."
            )
        _remove(place)
        if not place.is_loopback:
            return bind(place.link), ""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        token = os.urandom(32).hex()
        with open(place.link, "w", encoding="ascii") as file:
            make_private(place.link)
            file.write(f"{listener.getsockname()[1]} {token}")
        return listener, token


def bind(path: str) -> socket.socket:
    """Return a socket that listens at a path. Raises `UsageError` when that fails."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot listen at {path!r}: {error}").advise(
            "The path of a socket has a hundred characters; set XDG_RUNTIME_DIR to a short one."
        ) from None
    listener.listen(64)
    return listener


async def start_in_background(words: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str]:
    """Start the process of a session; return 0 once it is open, else its exit code, and its output.

    ``environ``: its environment variables besides this process's. It is a session leader, so
    that the terminal's signals do not reach it. Cancelling ends it.
    """
    process = subprocess.Popen(  # noqa: ASYNC220 - starting takes no time, reading does
        list(words), env={**os.environ, **environ}, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    try:
        written = await call_in_thread(process.stdout.read)
        if written.endswith(_OPEN):
            process.returncode = 0  # it outlives this process
        code = await call_in_thread(process.wait)
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    process.stdout.close()
    return code, written.decode("utf-8", "replace").replace("\0", "")


def detach(log: int) -> None:
    """Report to the starting process that the session is open, and close the streams."""
    with suppress(OSError):  # it was killed meanwhile
        os.write(1, _OPEN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate((nothing, nothing, log)):
        os.dup2(descriptor, number)
    os.close(nothing)


def is_own_peer(connection: socket.socket) -> bool:
    """Whether the peer of a connection is this user, or must send a token instead."""
    if sys.platform == "win32" or connection.family != socket.AF_UNIX:
        return True
    return peer_user(connection) == os.geteuid()

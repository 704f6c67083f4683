"""The front end of a command for a session that stays: the part that runs in the caller's process.

The command itself runs in a fork of a helper that has imported everything already, on the caller's
own descriptors, folder and environment; see `sessions.sockets`. This module sends the request,
forwards Ctrl-C and returns the exit code. To cost little more than the start of Python, it imports
only the C module below ``socket``: ``socket`` itself takes half as long as that start.
"""

from __future__ import annotations

import _socket
import os
import sys

from ..version import __version__

TYPE_CHECKING = False  # typing takes 8 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from socket import socket
    from typing import TextIO

STARTED, INTERRUPT = b"+", b"I"
_CONNECTION_LOST = 3
_SYMBOLS = frozenset("-_")
_FOLDER, _STICKY = 0o04, 0o1000  # of a mode; `stat` would have to be imported


def is_session_name(name: str) -> bool:
    """Whether a session may have this name: ASCII letters, digits, ``-`` and ``_``, at most 40."""
    plain = "".join(character for character in name if character not in _SYMBOLS)
    return plain.isascii() and plain.isalnum() and len(name) <= 40


def sessions_folder(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the folder of this user's sessions.

    Without XDG_RUNTIME_DIR it is in the state folder, as `user_folders.state_folder` has it,
    which would take too long to import. As there, a relative one does not count.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime) and platform != "win32":
        return os.path.join(runtime, "mcpclient")
    home = environ.get("USERPROFILE" if platform == "win32" else "HOME") or os.path.expanduser("~")
    if platform == "win32":
        local = os.path.join(home, "AppData", "Local")
        state = environ.get("LOCALAPPDATA") or local
    elif platform == "darwin":
        state = os.path.join(home, "Library", "Application Support")
    else:
        named = environ.get("XDG_STATE_HOME", "")
        state = named if os.path.isabs(named) else os.path.join(home, ".local", "state")
    return os.path.join(state, "mcpclient", "sessions")


def is_private(folder: str) -> bool:
    """Whether only this user can use a folder, or replace it by another. Raises OSError.

    It may be another user's where the environment is: after sudo, or in a container.
    """
    status, parent, own = os.lstat(folder), os.stat(os.path.dirname(folder)), os.geteuid()
    is_own = status.st_mode >> 12 == _FOLDER and status.st_uid == own and not status.st_mode & 0o077
    is_shared = parent.st_mode & 0o022 and not parent.st_mode & _STICKY
    return is_own and parent.st_uid in (own, 0) and not is_shared


def peer_user(connection: _socket.socket) -> int:
    """Return the id of the user at the other end of a Unix socket. Raises OSError."""
    if hasattr(_socket, "SO_PEERCRED"):  # Linux: struct ucred, process, user, group
        found = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:  # macOS and the BSDs: LOCAL_PEERCRED, struct xucred, version, user, …
        found = connection.getsockopt(0, 1, 76)
    return int.from_bytes(found[4:8], sys.byteorder)


def run_in_session(words: Sequence[str]) -> int | None:
    """Run a command in the session that its words name, and return its exit code.

    None: it has to run in this process, which then reports any error.
    """
    names = [word[1:] for word in words if word[:1] == "@"]
    if not names or "--" in words or not is_session_name(names[0]):
        return None
    try:
        request, folder = _request(words), sessions_folder(os.environ)
        if not is_private(folder):
            return None
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.connect(os.path.join(folder, f"{names[0]}.run"))
        if peer_user(connection) != os.geteuid():
            connection.close()
            return None
        descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
        connection.sendmsg([len(request).to_bytes(4, "big")], rights)
        connection.sendall(request)
        if connection.recv(1) != STARTED:
            return None
    except (OSError, AttributeError):  # no such session, or Windows
        return None
    return _outcome(connection, names[0])


def _request(words: Sequence[str]) -> bytes:
    """Return the folder, the streams, the words and the environment of this process."""
    fields = [__version__, os.getcwd()]
    streams: tuple[TextIO | None, ...] = (sys.stdin, sys.stdout, sys.stderr)
    for number, stream in enumerate(streams):
        os.fstat(number)
        if stream is None:
            raise OSError("a standard stream is closed")
        fields += [stream.encoding, stream.errors or "strict"]
    fields += [str(len(words)), *words]
    fields += [f"{name}={value}" for name, value in os.environ.items()]
    return b"\0".join(map(os.fsencode, fields))


def _outcome(connection: _socket.socket | socket, name: str) -> int:
    """Wait for the exit code; forward Ctrl-C to the fork, which gets none from the terminal."""
    while True:
        try:
            code = connection.recv(1)
        except KeyboardInterrupt:
            connection.sendall(INTERRUPT)
        except OSError:
            code = b""
            break
        else:
            break
    if code:
        return code[0]
    sys.stderr.write(f"error: the session @{name} ended while the command ran\n")
    return _CONNECTION_LOST

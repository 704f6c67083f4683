"""Forks that run the commands of a session, with everything imported, within milliseconds.

The helper, from which they are forked, is itself forked before the session's process has a thread,
an event loop or a pipe of its server. So no fork keeps the server's pipes open. A command runs on
the descriptors, in the folder and with the environment that its caller has sent: secrets are typed
into the caller's own terminal, and no caller sees or delays another's command. (On Windows, which
cannot fork, a command runs in its caller's process, by the same code, and starts slowly.)
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from ..version import __version__
from .front import INTERRUPT, STARTED
from .sockets import Place, bind, clean, is_own_peer

# Seconds that a server gets to end by itself once its session was killed, and after SIGTERM; the
# same as of `StopLadder`.
_GRACE = (0.5, 2.5)
_LOOK_EVERY = 0.05

# Seconds that a command may take to end after its front end was killed.
_CANCELS_WITHIN = 5.0

Run = Callable[[list[str]], int]


def start_helper(place: Place, listener: socket.socket, run: Run) -> socket.socket | None:
    """Fork the helper that runs commands; None on Windows.

    ``listener`` is closed in it. ``run`` runs a command line and returns its exit code; without
    words it only imports the modules that commands need. The helper lives for as long as the
    returned socket is open. A line on it names the process group to end if it closes before ``0``.
    """
    if place.is_loopback:
        return None
    commands = bind(place.run)
    ours, theirs = socket.socketpair()
    if os.fork():
        commands.close()
        theirs.close()
        return ours
    try:
        ours.close()
        listener.close()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        run([])
        group = _serve(commands, theirs, run)
        commands.close()
        clean(place)
        _end(group)
    finally:
        os._exit(0)


def _serve(commands: socket.socket, lifeline: socket.socket, run: Run) -> int:
    """Fork for each command until the session ends; return the process group that is left."""
    group = 0
    while True:
        ready, _, _ = select.select([commands, lifeline], [], [])
        if lifeline in ready:
            said = lifeline.recv(64)
            if not said:
                return group
            group = int(said.split()[-1])
        if commands in ready:
            connection, _ = commands.accept()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if os.fork() == 0:
                commands.close()
                lifeline.close()
                _run_command(connection, run)
            connection.close()


def _end(group: int) -> None:
    """End the processes of a server whose client was killed, unless they exit by themselves."""
    with suppress(ProcessLookupError):
        for number, grace in zip((0, signal.SIGTERM), _GRACE):
            ends = time.monotonic() + grace
            while group and time.monotonic() < ends:
                os.killpg(group, number)
                time.sleep(_LOOK_EVERY)
                number = 0
        if group:
            os.killpg(group, signal.SIGKILL)


def _run_command(connection: socket.socket, run: Run) -> NoReturn:
    """Run one command as its caller would, send the exit code, and exit."""
    code = 1
    try:
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        with connection.makefile("rb") as file:
            request = file.read(int.from_bytes(size, "big"))
        fields = [os.fsdecode(field) for field in request.split(b"\0")]
        if fields[0] != __version__ or len(descriptors) != 3 or not is_own_peer(connection):
            os._exit(0)  # the caller's own process reports why
        words = _take_over(fields[1:], descriptors)
        connection.sendall(STARTED)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=_watch, args=(connection,), daemon=True).start()
        code = run(words)
    except SystemExit as ending:  # of --help
        code = int(ending.code or 0)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        with suppress(OSError):
            connection.sendall(bytes([code]))
        os._exit(code)


def _take_over(fields: Sequence[str], descriptors: Sequence[int]) -> list[str]:
    """Replace the streams, the folder and the environment of this process by the caller's."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    folder, in_coding, in_errors, out_coding, out_errors, errors_coding, errors_errors = fields[:7]
    os.chdir(folder)
    sys.stdin = os.fdopen(0, encoding=in_coding, errors=in_errors)
    sys.stdout = os.fdopen(1, "w", encoding=out_coding, errors=out_errors)
    sys.stderr = os.fdopen(2, "w", encoding=errors_coding, errors=errors_errors, buffering=1)
    count = int(fields[7])
    os.environ.clear()
    variables = (field.partition("=") for field in fields[8 + count :])
    os.environ.update({name: value for name, _, value in variables})
    return list(fields[8 : 8 + count])


def _watch(connection: socket.socket) -> None:
    """Cancel the command as Ctrl-C does, on Ctrl-C or when the front end has ended."""
    said = INTERRUPT
    while said == INTERRUPT:
        try:
            said = connection.recv(1)
        except OSError:
            said = b""
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    time.sleep(_CANCELS_WITHIN)
    os._exit(1)

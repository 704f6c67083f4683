"""The program that stands for a server over stdio: its two pipes are the player's, and it waits.

``python hand_over.py WHERE``. WHERE is a socket file, to which it hands the pipes themselves: so
the player writes to the very pipe that the client reads, in the pieces it wants. Where no system
call can do that, WHERE is a port of this machine, and what comes is copied, both ways and as it
comes. It needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading


def hand_over(path: str) -> None:
    """Give the player both pipes, and wait until it closes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as player:
        player.connect(path)
        socket.send_fds(player, [b"!"], [0, 1])
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        player.recv(1)


def copy(port: int) -> None:
    """Copy between the player and the pipes until the player closes."""
    player = socket.create_connection(("127.0.0.1", port))
    player.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=_copy_input, args=(player,), daemon=True).start()
    with contextlib.suppress(OSError):  # the player has gone, or the client
        while data := player.recv(65536):
            while data:
                data = data[os.write(1, data) :]
    os._exit(0)  # the thread may still be reading


def _copy_input(player: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, 65536):
            player.sendall(data)
        player.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    where = sys.argv[1]
    if where.isdigit():
        copy(int(where))
    else:
        hand_over(where)

"""The program that stands for a server over stdio where a player cannot open its pipes.

``python copy_pipes.py PORT``. PORT is a port of this machine, to which it connects; what comes is
copied, both ways and as it comes. It needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading


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
    copy(int(sys.argv[1]))

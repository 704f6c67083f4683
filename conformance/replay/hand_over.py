"""The program that stands for a server over stdio: it hands its two pipes to the player and waits.

``python hand_over.py SOCKET``. So the player itself writes to the very pipe that the client reads,
in the pieces it wants. It needs nothing but the standard library.
"""

from __future__ import annotations

import os
import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as player:
        player.connect(sys.argv[1])
        socket.send_fds(player, [b"!"], [0, 1])
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        player.recv(1)  # until the player closes

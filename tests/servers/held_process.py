"""A process whose standard streams another process reads and writes.

It hands its stdin, stdout and stderr to whoever listens on the Unix socket named by its only
argument, keeps none of them itself, and lives until it gets an exit code there.
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

with_them = socket(AF_UNIX, SOCK_STREAM)
with_them.connect(sys.argv[1])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
with_them.sendmsg([b"%d" % os.getpid()], [(SOL_SOCKET, SCM_RIGHTS, streams)])
for stream in (0, 1, 2):
    os.close(stream)
with_them.send(b"!")  # from now on no other process has them
code = with_them.recv(1)
os._exit(code[0] if code else 0)

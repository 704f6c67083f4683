"""`McpServer` over stdio that presses Ctrl-C: it sends the program that started it SIGINT.

Arguments: the moments at which it does, each once: the method of a message from the client,
``answer`` for an answer of the client's, ``end`` for the end of the input. It reacts to what came
afterwards, and stays for a moment after the end. Events are written to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.support.mcp_server import Json, McpServer


def send(message: Json) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def main(moments: list[str]) -> None:
    server = McpServer("both")

    def interrupt(moment: str) -> None:
        if moment in moments:
            moments.remove(moment)
            os.kill(os.getppid(), signal.SIGINT)

    for line in sys.stdin.buffer:
        message = json.loads(line)
        interrupt(message.get("method", "answer"))
        server.receive(message, send)
    for _ in range(2):
        interrupt("end")
    time.sleep(0.05 if moments else 0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        main(sys.argv[1:])
    except BrokenPipeError:  # the client is gone
        os._exit(0)

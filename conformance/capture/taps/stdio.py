"""The tap of stdio: a program that a client starts in place of the server, which it starts itself.

Usage: ``python stdio.py SEEN COMMAND [ARGUMENT …]``. What passes is written to the file SEEN, one
line of JSON each (see `read_seen`). In these words, `NEW` stands for a name that no other tap has.
It needs nothing but the standard library, and imports nothing of this package when it runs as a
program.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

NEW = "{new}"


class Relay:
    """One server process, and the three streams between it and the client."""

    def __init__(self, seen: IO[str], command: list[str]) -> None:
        self._seen = seen
        self._writing = threading.Lock()
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self) -> int:
        """Pass everything on until the server has exited, and return its exit code."""
        server = self._server
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        threading.Thread(target=self._requests, args=(server.stdin,), daemon=True).start()
        answers = threading.Thread(target=self._answers, args=(server.stdout,))
        errors = threading.Thread(target=self._errors, args=(server.stderr,))
        answers.start()
        errors.start()
        answers.join()
        errors.join()
        return server.wait()

    def _requests(self, server: IO[bytes]) -> None:
        for line in sys.stdin.buffer:
            self._note("sent", "stdio", line=line)
            try:
                server.write(line)
                server.flush()
            except BrokenPipeError:
                break
        self._note("sent", "stdio", end="closed")
        server.close()

    def _answers(self, server: IO[bytes]) -> None:
        for line in server:
            self._note("received", "stdio", line=line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        self._note("received", "stdio", end="complete")
        sys.stdout.close()

    def _errors(self, server: IO[bytes]) -> None:
        for line in server:
            self._note("received", "stderr", line=line)

    def _note(self, direction: str, channel: str, line: bytes | None = None, end: str = "") -> None:
        facts: dict[str, Any] = {"direction": direction, "channel": channel}
        if line is not None:
            facts["line"] = base64.b64encode(line).decode("ascii")
        if end:
            facts["facts"] = {"end": end}
        with self._writing:
            facts["nanoseconds"] = time.monotonic_ns()
            self._seen.write(json.dumps(facts) + "\n")
            self._seen.flush()


def read_seen(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the output of a relay, as the members of `taps.Seen`."""
    for text in path.read_bytes().splitlines():
        members: dict[str, Any] = json.loads(text)
        if "line" in members:
            members["line"] = base64.b64decode(members["line"])
        yield members


if __name__ == "__main__":
    name = uuid.uuid4().hex
    place, *command = (word.replace(NEW, name) for word in sys.argv[1:])
    with open(place, "a", encoding="utf-8") as file:
        code = Relay(file, command).run()
    os._exit(code)  # the thread that reads may still do so

"""`McpServer` over stdio, with tools and options for misbehaving that only a process has.

Options: ``--era ERA``; ``--log FILE`` (what happens, one line each); ``--on-probe exit|ignore``;
``--stubborn`` (goes on when its input ends); ``--hello HEX`` (bytes written before anything else);
``--crash FILE`` (while there is such a file, it ends at its start).

Tools: ``die`` writes ``stderr`` and exits with ``code``; ``raw`` writes the bytes ``hex`` before it
answers, ``instead`` of answering, or as its answer with ``{id}`` replaced; ``deaf`` never reads
again; ``pause`` does not until the file ``until`` exists; ``mute`` closes the output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.support.mcp_server import Json, McpServer


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def send(message: Json) -> None:
    write(json.dumps(message, ensure_ascii=False).encode() + b"\n")


class StdioServer:
    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._server = McpServer(self._option("--era") or "handshake")
        self._log_file = self._option("--log")

    def _option(self, name: str) -> str:
        if name not in self._arguments:
            return ""
        return self._arguments[self._arguments.index(name) + 1]

    def _log(self, text: str) -> None:
        if self._log_file:
            with open(self._log_file, "a", encoding="utf-8") as file:
                file.write(text + "\n")

    def run(self) -> None:
        self._log("start")
        if os.path.exists(self._option("--crash")):
            os.write(2, f"server {os.getpid()} starts\n".encode())
            sys.exit("no database")
        write(bytes.fromhex(self._option("--hello")))
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self._log(message.get("method", "answer"))
            self._take(message)
        self._log("end of input")
        while "--stubborn" in self._arguments:
            time.sleep(3600)

    def _take(self, message: Json) -> None:
        on_probe = self._option("--on-probe")
        if message.get("method") == "server/discover" and on_probe:
            if on_probe == "exit":
                sys.exit(1)
            return
        if message.get("method") == "tools/call":
            name, arguments = message["params"]["name"], message["params"].get("arguments", {})
            if self._misbehave(name, arguments, message):
                return
        self._server.receive(message, send)

    def _misbehave(self, name: str, arguments: Json, message: Json) -> bool:
        if name == "die":
            os.write(2, arguments.get("stderr", "").encode())
            os._exit(arguments["code"])
        elif name == "raw":
            identity = str(message["id"]).encode()
            write(bytes.fromhex(arguments["hex"]).replace(b"{id}", identity))
            if arguments.get("answers"):
                text = {"content": [{"type": "text", "text": "answered"}]}
                send({"jsonrpc": "2.0", "id": message["id"], "result": text})
        elif name == "deaf":
            time.sleep(3600)
        elif name == "pause":
            send({"jsonrpc": "2.0", "method": "paused"})
            while not os.path.exists(arguments["until"]):
                time.sleep(0.01)
        elif name == "mute":
            os.close(1)
            time.sleep(3600)
        else:
            return False
        return True


if __name__ == "__main__":
    StdioServer(sys.argv[1:]).run()

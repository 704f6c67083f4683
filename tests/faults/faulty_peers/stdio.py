"""A faulty server process: a real one, whose standard streams this test reads and writes.

So its bytes come as soon as they are written, in the time of the test's own loop, while its exit
code, its death by a signal and its remains look like a process's.
"""

from __future__ import annotations

import array
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from mcpclient.net.process import server_process as process
from mcpclient.net.process.launch import launch
from tests.faults.faulty_peers.faults import Delivery, stall
from tests.faults.faulty_peers.lines import NOISE, NOTICE
from tests.faults.faulty_peers.peer import Peer
from tests.faults.faulty_peers.wire import Wire

EXIT_CODE = 3

_SERVER = Path(__file__).parent.parent.parent / "servers" / "held_process.py"

# Real seconds in which a process starts, or ends, if it ever does.
_PATIENCE = 30.0


class ProcessWire(Wire):
    """The output of one process. ``drop`` is its exit, with `EXIT_CODE`, ``reset`` its SIGKILL."""

    def __init__(self, peer: StdioPeer, control: socket.socket) -> None:
        identity, rights, _, _ = control.recvmsg(32, socket.CMSG_SPACE(12))
        self.pid = int(identity)
        control.recv(1)  # the process has let go of them
        self.input, self._output, self._stderr = array.array("i", rights[0][2])
        self._peer = peer
        self._control = control
        self._held = b""
        self._open = {self.input, self._output, self._stderr}
        self._ended = False
        os.set_blocking(self.input, False)
        asyncio.get_running_loop().add_reader(self.input, self._read)

    def _read(self) -> None:
        data = os.read(self.input, 65536)
        if not data:
            self._peer.input_ended(self)
            return
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self._peer.script.receive(json.loads(line), self)

    def raw(self, text: bytes) -> None:
        self.write(text + b"\n")

    def write(self, data: bytes) -> None:
        """Write bytes as they are; a pipe takes so many at once."""
        if self._output in self._open:
            with suppress(BrokenPipeError):
                os.write(self._output, data)

    def cut(self, text: bytes) -> None:
        self.write(text[: len(text) // 2])
        self.drop()

    def noise(self) -> None:
        self.write(NOISE)

    def drop(self) -> None:
        self.exit(EXIT_CODE)

    def exit(self, code: int, *, keep: bool = False) -> None:
        """Let the process exit; ``keep``: its streams stay open, as a child of it has them."""
        if not self._ended:
            if not keep:
                self.let_go()
            self._control.send(bytes([code]))
            self._await_end()

    def reset(self) -> None:
        self.let_go()
        os.kill(self.pid, signal.SIGKILL)
        self._await_end()

    def _await_end(self) -> None:
        """Let the loop stand still until the process is gone, as its virtual time does not."""
        self._ended = True
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._control.close()

    def close_input(self) -> None:
        """Close the input, as a process that wants to hear no more."""
        if self.input in self._open:
            asyncio.get_running_loop().remove_reader(self.input)
            self._close(self.input)

    def close_output(self) -> None:
        """Close the output, as a process that has no more to say."""
        self._close(self._output)

    def let_go(self) -> None:
        """Close the streams."""
        self.close_input()
        self.close_output()
        self._close(self._stderr)

    def forget(self) -> None:
        """Close everything at the end of the test."""
        self.let_go()
        self._control.close()

    def _close(self, stream: int) -> None:
        if stream in self._open:
            self._open.remove(stream)
            os.close(stream)


_killpg = os.killpg if sys.platform != "win32" else None


def _kill_and_wait(group: int, number: int) -> None:
    """Send a signal, and let the loop stand still until it has ended the process."""
    assert _killpg is not None
    _killpg(group, number)
    if number:
        with suppress(ChildProcessError):  # it was collected before
            os.waitid(os.P_PID, group, os.WEXITED | os.WNOWAIT)


class StdioPeer(Peer):
    options = MappingProxyType({"stderr": "discard"})

    async def start(self) -> None:
        self._wires: list[ProcessWire] = []
        path = self.folder / "held.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(_PATIENCE)
        self._listener.bind(str(path))
        self._listener.listen()
        self.stack.callback(self._close)
        self.stack.enter_context(patch.object(process, "launch", self._launch_and_wait))
        self.stack.enter_context(patch.object(os, "killpg", _kill_and_wait))
        self.target = [sys.executable, "-I", "-S", str(_SERVER), str(path)]

    def _launch_and_wait(self, *arguments: Any) -> subprocess.Popen[bytes]:
        """Start the process, and let the loop stand still until it has."""
        started = launch(*arguments)
        wire = ProcessWire(self, self._listener.accept()[0])
        self._wires.append(wire)
        if self.script.strikes_at("connect"):
            self.script.strike([Delivery(wire, NOTICE)])
        return started

    def input_ended(self, wire: ProcessWire) -> None:
        """Receive the client's goodbye."""
        wire.close_input()
        if self.script.strikes_at("close"):
            self.script.strike([Delivery(wire, NOTICE)])
            if self.script.fault is not stall:
                wire.exit(0)
        else:
            wire.exit(0)

    def _close(self) -> None:
        self._listener.close()
        os.unlink(self.folder / "held.sock")
        for wire in self._wires:
            wire.forget()

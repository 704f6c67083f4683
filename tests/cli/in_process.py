"""Run one command of the command line against a server in this process: no pipe, no child."""

from __future__ import annotations

import argparse
import asyncio
import io
from collections.abc import Mapping
from typing import Any

from mcpclient import Client, Receiver, Transport
from mcpclient.cli.command import DECLARED, Answer, Command
from mcpclient.cli.commands import command_named
from mcpclient.cli.parsing import parser_of
from mcpclient.cli.screen import Screen
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.testing.demo_server import DemoServer


class ServerInProcess(Transport):
    """The demo server, except that ``answers`` holds other results for some methods.

    An answer that is an exception's dictionary (with ``code``) is sent as an error.
    """

    name = "in-process"

    def __init__(self, answers: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._answers = answers or {}

    async def open(self, receiver: Receiver) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._server = DemoServer(self._deliver)

    def _deliver(self, message: dict[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._receiver.message_received, message)

    def send(self, outgoing: Outgoing) -> None:
        message = dict(outgoing.message)
        answer = self._answers.get(message["method"])
        if answer is None:
            self._server.receive(message)
        else:
            kind = "error" if "code" in answer else "result"
            self._deliver({"jsonrpc": "2.0", "id": message["id"], kind: answer})

    async def close(self) -> None:
        self._server.stop()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def prepared(name: str, *words: str) -> argparse.Namespace:
    """Return words and options, checked before anything is started."""
    command = command_named(name)
    assert isinstance(command, Command)
    options = parser_of(command).parse_intermixed_args(words)
    command.check(options)
    return options


def ask(
    name: str,
    *words: str,
    answers: Mapping[str, Mapping[str, Any]] | None = None,
    screen: Screen | None = None,
    revision: str = "2025-11-25",
) -> Answer:
    """Return the answer of a command."""

    async def run() -> Answer:
        async with Client(ServerInProcess(answers), protocol_version=revision) as client:
            options = prepared(name, *words)
            shown = screen or Screen(io.StringIO(), io.StringIO(), {})
            answer: Answer = await DECLARED[name].function(client, shown, options)
            return answer

    return asyncio.run(run())

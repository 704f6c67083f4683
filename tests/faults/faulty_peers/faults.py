"""The faults, in terms of wires: each replaces the bytes that were to be sent."""

from __future__ import annotations

from typing import Callable, NamedTuple

from tests.faults.faulty_peers.wire import Wire, encode
from tests.support.mcp_server import Json

LIMIT = 20_000
"""The ``max_message_size`` of the clients in the matrix."""


class Delivery(NamedTuple):
    """A message that a server is about to send."""

    wire: Wire
    message: Json

    @property
    def text(self) -> bytes:
        return encode(self.message)


Fault = Callable[["list[Delivery]"], None]


def drop(due: list[Delivery]) -> None:
    """The connection closes, and nothing came."""
    due[0].wire.drop()
    _send(_elsewhere(due))


def reset(due: list[Delivery]) -> None:
    """The connection is reset, or the process killed."""
    due[0].wire.reset()
    _send(_elsewhere(due))


def stall(due: list[Delivery]) -> None:
    """Nothing ever comes."""
    _send(_elsewhere(due))


def truncate(due: list[Delivery]) -> None:
    """Half a message comes, and the connection closes."""
    due[0].wire.cut(due[0].text)
    _send(_elsewhere(due))


def duplicate(due: list[Delivery]) -> None:
    """Everything comes twice."""
    _send([each for each in due for _ in range(2)])


def reorder(due: list[Delivery]) -> None:
    """The last message comes first."""
    _send(due[::-1])


def noise(due: list[Delivery]) -> None:
    """Bytes that the framing does not allow come before the message."""
    due[0].wire.noise()
    _send(due)


def not_utf8(due: list[Delivery]) -> None:
    """A message comes that is not UTF-8."""
    _send_instead(due, due[0].text[:-1] + b', "x": "\xff\xfe"}')


def not_json(due: list[Delivery]) -> None:
    """A message comes that is not JSON."""
    _send_instead(due, due[0].text[:-1] + b"]")


def no_message(due: list[Delivery]) -> None:
    """JSON comes that is not a message."""
    _send_instead(due, b'[1, null, "message"]')


def huge(due: list[Delivery]) -> None:
    """A message comes that is over the limit."""
    padding = b', "x": "' + b"x" * (2 * LIMIT) + b'"}'
    _send_instead(due, due[0].text[:-1] + padding)


FAULTS: dict[str, Fault] = {
    "drop": drop,
    "reset": reset,
    "stall": stall,
    "truncate": truncate,
    "duplicate": duplicate,
    "reorder": reorder,
    "noise": noise,
    "not-utf8": not_utf8,
    "not-json": not_json,
    "no-message": no_message,
    "huge": huge,
}


def _send_instead(due: list[Delivery], text: bytes) -> None:
    """Send ``text`` in the place of the first message, and the others after it."""
    due[0].wire.raw(text)
    _send(due[1:])
    due[0].wire.end()


def _send(due: list[Delivery]) -> None:
    for wire, message in due:
        wire.send(message)
    for wire, _ in due:
        wire.end()


def _elsewhere(due: list[Delivery]) -> list[Delivery]:
    """A message that went another way than the first, and that its fault does not touch."""
    return [each for each in due if each.wire is not due[0].wire]

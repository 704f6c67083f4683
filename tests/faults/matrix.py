# ruff: noqa: E501 - a row of a table is one line, however long
"""The fault matrix: what comes of every fault, over every transport, at every step.

A row is an era and a step, a column is what the server does wrong there, once, and a cell is what
the caller sees. After each, whatever it was, the client connects anew if it has to and makes a
call that succeeds; nothing is left behind; no exception is lost; and no tool call was made twice.
How a fault is made to happen is in `faulty_peers`; `plays` is what the client does meanwhile.

Steps:

- connect: the connection is being made: a process starts, a socket is accepted, a WebSocket or an
  event stream is opened. In the grid http-get, the server's own channel.
- open: the server answers the first request, which is ``initialize`` or ``server/discover``.
- probe: the same when the client does not know the era yet; the row is what the server speaks.
- initialized, notify: a notification comes from the client: ``notifications/initialized``, another.
- request: a tool call is answered, while a second call waits.
- stream: a tool call has brought progress once; more progress and the answer are due.
- ask: a tool call waits for the client's answer to a question. In the handshake era that is a
  request of the server's, and the fault strikes while the user thinks; in the stateless era it is
  a result that asks for input, and the fault strikes when the call is made again with the answer.
- answer: the client has answered the server's request, and the call is due.
- listen: a subscription is open, and a change is due.
- close: the client says goodbye, while a call waits.

Faults (`faulty_peers.faults`): drop: the connection closes, or the process exits with code 3.
reset: RST, or SIGKILL. stall: nothing ever comes. truncate: half a message, and the connection
closes. duplicate: what is due comes twice. reorder: what is due last comes first. noise: bytes that
the framing has no place for, and then what is due. not-utf8, not-json, no-message, huge: instead of
the message that is due, one that is not UTF-8, not JSON, JSON but no message, or over the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcpclient.errors import CallTimeout as TimedOut
from mcpclient.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    ProcessExited,
    ProtocolViolation,
)
from tests.faults.faulty_peers.faults import LIMIT
from tests.faults.faulty_peers.stdio import EXIT_CODE
from tests.faults.plays import TIMEOUT


@dataclass(frozen=True)
class Expected:
    """An outcome. ``seconds``: from when to when, in virtual time.

    ``missed``: the listener learns that it may have missed events; ``silent``: it learns nothing.
    """

    error: type[McpError] | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    seconds: tuple[float, float] = (0.0, 0.1)
    missed: bool = False
    silent: bool = False


OUTCOMES = {
    # It went well; the notification is sent; the connection is closed.
    "ok": Expected(),
    # The same after a short pause: the broken stream of an answer is resumed, or changes of a list
    # are gathered before a listener gets them.
    "soon": Expected(seconds=(0.3, 0.5)),
    # The same after the moment that a server gets to accept its own channel.
    "brief": Expected(seconds=(0.05, 0.06)),
    # The same after a pause: the server's own channel is opened again, initialize is sent beside a
    # probe without answer, a server is waited for at the end.
    "late": Expected(seconds=(0.5, 2.5)),
    # The same after the patience for the probe over HTTP.
    "later": Expected(seconds=(5, 10)),
    # The same after a limit: of posting a notification, of silence on a stream.
    "ok30": Expected(seconds=(30, 30.1)),
    "ok60": Expected(seconds=(60, 62)),
    # A listener learns that it may have missed events, once there is a new connection.
    "missed": Expected(missed=True, seconds=(0.5, 2.5)),
    "missed60": Expected(missed=True, seconds=(60, 62)),
    # A listener learns nothing.
    "silent": Expected(silent=True, seconds=(300, 300.1)),
    # The call, or the attempt to connect, fails.
    "lost": Expected(ConnectionLost, seconds=(0, 1)),
    "exit": Expected(ProcessExited, {"exit_code": EXIT_CODE}, (0, 1)),
    "kill": Expected(ProcessExited, {"exit_code": -9}, (0, 1)),
    "fail": Expected(ConnectFailed, {}, (0, 1)),
    "time": Expected(TimedOut, {"seconds": TIMEOUT}, (TIMEOUT, TIMEOUT + 0.1)),
    "bad": Expected(ProtocolViolation, {}, (0, 1)),
    "big": Expected(MessageTooLarge, {"limit": LIMIT}, (0, 1)),
    "http": Expected(HttpError, {"status": 200}, (0, 1)),
}
"""What a word in a cell means. With ``~``, ``on_error`` is called, which it otherwise does
not; with ``!`` the connection is over (and every other call that waits fails for the same reason),
otherwise it lives on (and every other call that waits is answered)."""

NOT_PLAYED = {
    "(none)": "nothing is due from the server at that point",
    "(one)": "only one message is due, so there is no other order",
    "(bytes)": "messages are passed as they are: there are no bytes to be wrong",
    "(tcp)": "the same code with the same lines as in the grid tcp; only the carrier differs",
}
"""Why a cell is not played. Rows are missing for these reasons:

- unix: its bytes equal tcp's; what differs is how it is connected to.
- tcp, unix, sse, close: the client closes the connection and waits for nothing.
- http-sse, initialized, notify, close: these are answered as in http-json.
- http-json, stream, listen, and ask of the handshake era: one JSON answer has no room for more.
- http-sse, listen of the handshake era: its notifications come on the channel of http-get.
- http-get, sse, sse-post in the stateless era: it has neither that channel nor that transport.
- http-sse-ids, http-get, sse-post: only what differs from http-sse, http-json and sse.
- initialized and answer in the stateless era: it has no such messages.
"""

GRIDS = {
    "stdio": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both connect           exit!    kill!    (none)    exit!    ok        (one)   ok~     (tcp)    (tcp)     (tcp)      ok~
both open              exit!    kill!    time!     exit!    ok        (one)   ok~     (tcp)    (tcp)     (tcp)      big!
handshake initialized  ok!      ok!      ok        ok!      ok        (one)   ok~     (tcp)    (tcp)     (tcp)      ok~
both probe             ok       ok       late      ok       ok        (one)   ok~     (tcp)    (tcp)     (tcp)      ok
both request           exit!    kill!    time      exit!    ok        ok      ok~     bad      bad       time~      big
both stream            exit!    kill!    time      exit!    ok        ok      ok~     (tcp)    (tcp)     (tcp)      ok~
handshake ask          exit!    kill!    time      exit!    ok~       ok      ok~     (tcp)    (tcp)     (tcp)      big
stateless ask          exit!    kill!    time      exit!    ok        (one)   ok~     (tcp)    (tcp)     (tcp)      big
handshake answer       exit!    kill!    time      exit!    ok        (one)   ok~     (tcp)    (tcp)     (tcp)      big
both notify            ok!      ok!      ok        ok!      ok        (one)   ok~     (tcp)    (tcp)     (tcp)      ok~
handshake listen       missed   missed   silent    missed   soon      (one)   soon~   (tcp)    (tcp)     (tcp)      silent~
stateless listen       missed   missed   silent    missed   soon      soon    soon~   (tcp)    (tcp)     (tcp)      silent~
both close             ok!      ok!      late!     ok!      ok!       (one)   ok~!    (tcp)    (tcp)     (tcp)      ok~!
    """,
    "tcp": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both connect           lost!    lost!    (none)    lost!    ok        (one)   ok~     ok~      ok~       ok~        ok~
both open              lost!    lost!    time!     lost!    ok        (one)   ok~     bad!     bad!      time~!     big!
handshake initialized  ok!      ok!      ok        ok!      ok        (one)   ok~     ok~      ok~       ok~        ok~
both probe             ok       ok       late      ok       ok        (one)   ok~     ok       ok        late~      ok
both request           lost!    lost!    time      lost!    ok        ok      ok~     bad      bad       time~      big
both stream            lost!    lost!    time      lost!    ok        ok      ok~     ok~      ok~       ok~        ok~
handshake ask          lost!    lost!    time      lost!    ok~       ok      ok~     bad      bad       time~      big
stateless ask          lost!    lost!    time      lost!    ok        (one)   ok~     bad      bad       time~      big
handshake answer       lost!    lost!    time      lost!    ok        (one)   ok~     bad      bad       time~      big
both notify            ok!      ok!      ok        ok!      ok        (one)   ok~     ok~      ok~       ok~        ok~
handshake listen       missed   missed   silent    missed   soon      (one)   soon~   silent~  silent~   silent~    silent~
stateless listen       missed   missed   silent    missed   soon      soon    soon~   silent~  silent~   silent~    silent~
    """,
    "unix": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both connect           lost!    (tcp)    (none)    lost!    ok        (one)   ok~     ok~      ok~       ok~        ok~
both open              lost!    (tcp)    time!     lost!    ok        (one)   ok~     bad!     bad!      time~!     big!
both request           lost!    (tcp)    time      lost!    ok        ok      ok~     bad      bad       time~      big
both stream            lost!    (tcp)    time      lost!    ok        ok      ok~     ok~      ok~       ok~        ok~
    """,
    "ws": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both connect           fail!    fail!    time!     fail!    bad!      (one)   bad!    http!    http!     http!      http!
both open              lost!    lost!    time!     lost!    ok        (one)   bad!    bad!     bad!      time~!     big!
handshake initialized  ok!      ok!      ok        ok!      ok        (one)   ok!     ok!      ok~       ok~        ok!
both probe             ok       ok       late      ok       ok        (one)   ok      ok       ok        late~      ok
both request           lost!    lost!    time      lost!    ok        ok      bad!    bad!     bad       time~      big!
both stream            lost!    lost!    time      lost!    ok        ok      bad!    bad!     ok~       ok~        big!
handshake ask          lost!    lost!    time      lost!    ok~       ok      bad!    bad!     bad       time~      big!
stateless ask          lost!    lost!    time      lost!    ok        (one)   bad!    bad!     bad       time~      big!
handshake answer       lost!    lost!    time      lost!    ok        (one)   bad!    bad!     bad       time~      big!
both notify            ok!      ok!      ok        ok!      ok        (one)   ok!     ok!      ok~       ok~        ok!
handshake listen       missed   missed   silent    missed   soon      (one)   bad!    bad!     silent~   silent~    big!
stateless listen       missed   missed   silent    missed   soon      soon    bad!    bad!     silent~   silent~    big!
both close             ok!      ok!      late!     ok!      late!     (one)   ok!     late!    late!     late!      late!
    """,
    "http-json": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both open              lost!    lost!    time!     lost!    ok        (one)   bad!    bad!     bad!      bad!       big!
handshake initialized  ok       ok       time!     ok~      ok        (one)   ok~     ok       ok        ok         ok~
both probe             ok       ok       later     ok       ok        (one)   ok      ok       ok        ok         ok
both request           lost     lost     time      lost     ok        ok      bad     bad      bad       bad        big
stateless ask          lost     lost     time      lost     ok        (one)   bad     bad      bad       bad        big
both notify            ok       ok       ok30~     ok~      ok        (one)   ok~     ok       ok        ok         ok~
handshake close        ok!      ok!      late!     ok!      ok!       (one)   ok!     ok!      ok!       ok!        ok!
    """,
    "http-sse": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both open              lost!    lost!    time!     lost!    ok        (one)   ok      ok       bad!      bad!       big!
both probe             ok       ok       later     ok       ok        (one)   ok      ok       ok        ok         ok
both request           lost     lost     time      lost     ok        ok      ok      ok       bad       bad        big
both stream            lost     lost     time      lost     ok        ok      ok      ok       ok~       bad        big
handshake ask          lost     lost     time      lost     ok~       ok      ok      ok       bad       bad        big
stateless ask          lost     lost     time      lost     ok        (one)   ok      ok       bad       bad        big
handshake answer       ok~      ok~      ok        ok~      ok        (one)   ok~     ok       ok        ok         ok~
stateless listen       missed   missed   missed60  missed   soon      soon    soon    soon     missed~   bad        big
    """,
    "http-sse-ids": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
handshake open         soon     soon     time!     soon     ok        (one)   ok      ok       bad!      bad!       big!
stateless open         lost!    lost!    time!     lost!    ok        (one)   ok      ok       bad!      bad!       big!
handshake request      soon     soon     time      soon     ok        ok      ok      ok       bad       bad        big
stateless request      lost     lost     time      lost     ok        ok      ok      ok       bad       bad        big
handshake stream       soon     soon     time      soon     ok        ok      ok      ok       ok~       bad        big
stateless stream       lost     lost     time      lost     ok        ok      ok      ok       ok~       bad        big
handshake ask          soon     soon     time      soon     ok~       ok      ok      ok       bad       bad        big
    """,
    "http-get": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
handshake connect      ok       ok       brief     ok       ok        (one)   ok      ok       ok~       ok~        ok~
handshake stream       ok       ok       ok        ok       ok        ok      ok      ok       ok~       ok~        ok~
handshake ask          ok       ok       ok        ok       ok~       ok      ok      ok       ok~       ok~        ok~
handshake answer       ok~      ok~      ok        ok~      ok        (one)   ok~     ok       ok        ok         ok~
handshake listen       late     late     ok60      late     soon      (one)   soon    soon     late~     late~      late~
    """,
    "sse": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
handshake connect      lost!    lost!    time!     lost!    ok        (one)   ok      time!    time~!    time~!     big!
handshake open         lost!    lost!    time!     lost!    ok        (one)   ok      ok       bad!      time~!     time~!
handshake initialized  lost!    lost!    ok        lost!    ok        (one)   ok      ok       ok~       ok~        ok~
handshake request      lost!    lost!    time      lost!    ok        ok      ok      ok       bad       time~      time~
handshake stream       lost!    lost!    time      lost!    ok        ok      ok      ok       ok~       ok~        ok~
handshake ask          lost!    lost!    time      lost!    ok~       ok      ok      ok       bad       time~      time~
handshake answer       lost!    lost!    time      lost!    ok        (one)   ok      ok       bad       time~      time~
handshake notify       ok!      ok!      ok        ok!      ok        (one)   ok      ok       ok~       ok~        ok~
handshake listen       missed   missed   silent    missed   soon      (one)   soon    soon     silent~   silent~    silent~
    """,
    "sse-post": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
handshake open         lost!    lost!    time!     lost!    time!     (one)   bad!    time!    time!     time!      time!
handshake initialized  ok       ok       time!     ok~      ok        (one)   ok~     ok       ok        ok         ok
handshake request      lost     lost     time      lost     time      (one)   bad     time     time      time       time
handshake answer       ok       ok       ok        ok~      ok        (one)   ok~     ok       ok        ok         ok
handshake notify       ok       ok       ok30~     ok~      ok        (one)   ok~     ok       ok        ok         ok
    """,
    "in-process": """
                       drop     reset    stall     truncate duplicate reorder noise   not-utf8 not-json  no-message huge
both connect           lost!    lost!    (none)    (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
both open              lost!    lost!    time!     (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
handshake initialized  ok!      ok!      ok        (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
both probe             ok       ok       late      (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
both request           lost!    lost!    time      (bytes)  ok        ok      (bytes) (bytes)  (bytes)   (bytes)    (bytes)
both stream            lost!    lost!    time      (bytes)  ok        ok      (bytes) (bytes)  (bytes)   (bytes)    (bytes)
handshake ask          lost!    lost!    time      (bytes)  ok~       ok      (bytes) (bytes)  (bytes)   (bytes)    (bytes)
stateless ask          lost!    lost!    time      (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
handshake answer       lost!    lost!    time      (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
both notify            ok!      ok!      ok        (bytes)  ok        (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
handshake listen       missed   missed   silent    (bytes)  soon      (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
stateless listen       missed   missed   silent    (bytes)  soon      soon    (bytes) (bytes)  (bytes)   (bytes)    (bytes)
both close             ok!      ok!      late!     (bytes)  late!     (one)   (bytes) (bytes)  (bytes)   (bytes)    (bytes)
    """,
}


@dataclass(frozen=True)
class Cell:
    """One cell: ``expected`` of a fault. ``heard``: by ``on_error``; ``lives``: the connection."""

    transport: str
    era: str
    step: str
    fault: str
    expected: Expected
    heard: bool
    lives: bool

    def __str__(self) -> str:
        return f"{self.transport}-{self.era}-{self.step}-{self.fault}"

    @property
    def runs(self) -> int:
        """The number of times that the tool of this step is to run."""
        if self.step == "request" and self.fault == "reorder":
            return 2  # the two calls whose answers are swapped
        if self.step == "ask" and self.era == "stateless":
            return 2  # the call that asks, and the one that brings the answer
        return 1 if self.step in ("request", "stream", "ask", "answer") else 0


def cells() -> Iterator[Cell]:
    """Every cell that is played, row by row."""
    for transport, grid in GRIDS.items():
        header, *rows = grid.strip().splitlines()
        faults = header.split()
        for row in rows:
            eras, step, *words = row.split()
            assert len(words) == len(faults), f"{transport}: a row of another length: {row}"
            for era in ("handshake", "stateless") if eras == "both" else (eras,):
                for fault, word in zip(faults, words):
                    if word not in NOT_PLAYED:
                        expected = OUTCOMES[word.rstrip("~!")]
                        lives, heard = "!" not in word, "~" in word
                        yield Cell(transport, era, step, fault, expected, heard, lives)

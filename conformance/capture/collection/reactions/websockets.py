"""WebSocket: how it opens, frames that are well-formed and others, and how it ends."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    LOG,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    asked,
    error,
    plain,
    reaction,
)
from conformance.capture.collection.reactions.stateless import USER, WHO
from conformance.scripts import Step

_FINAL, _RESERVED = 0x80, (0x40, 0x20, 0x10)
_MORE, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_DONE = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"content": []}}).encode()
_LONG = "x" * 3000
_LIMITED = {"options": {"max_message_size": 2000}}

_OPENS = (
    "RFC 6455, 4.1: a client MUST fail the connection where the answer is not the one to its "
    "request: upgrade, connection, accept, subprotocol and extensions; other statuses are HTTP's."
)
_FRAMES = (
    "RFC 6455, 5.1 to 5.5, 7.4, 8.1: a client MUST fail the connection of a frame that is masked, "
    "reserved, out of order, of a length that is not the shortest, or of text that is not UTF-8."
)
_DEFLATES = (
    "RFC 7692, 5.1, 6 and 7.1 to 7.2: messages are compressed as both agreed; a client MUST fail "
    "the connection of an answer that it cannot accept, and of a bit where none may be."
)
_GOOD = "RFC 6455, 5.4 and 5.5: control frames MAY come between fragments; a ping is answered."
_ENDS = "RFC 6455, 5.5.1 and 7.1: a close frame is answered by one, and nothing follows it."


def _frame(first: int, payload: bytes = b"") -> bytes:
    size = len(payload)
    head = bytes([first, size]) if size < 126 else struct.pack("!BBH", first, 126, size)
    return head + payload


def _whole(opcode: int, payload: bytes = b"") -> bytes:
    return _frame(_FINAL | opcode, payload)


def _spoken(name: str, clause: str, plan: Plan, *steps: Step, **members: Any) -> Reaction:
    return reaction(f"ws-{name}", clause, plan, *steps, transports="ws", **members)


def _framed(name: str, clause: str, *parts: Any, **members: Any) -> Reaction:
    """Return a session whose first call is answered in these frames; it is the client's to end."""
    plan = Plan({"tools/call": (Reply(events=parts), USUAL), "close": (Reply(events=()),)})
    return _spoken(name, clause, plan, HELLO, HELLO, PING, **members)


_OPENINGS = {
    "refused-by-400": plain(400, "Bad Request"),
    "refused-by-401": plain(401),
    "refused-by-426": plain(426, "Upgrade Required", Upgrade="websocket"),
    "refused-by-503": plain(503, "Busy"),
    "refused-at-length": plain(500, "x" * 20_000),
    "redirected": plain(307, Location="/elsewhere"),
    "without-upgrade": Reply(headers={"Upgrade": ""}),
    "upgraded-to-another": Reply(headers={"Upgrade": "h2c"}),
    "without-connection": Reply(headers={"Connection": "keep-alive"}),
    "upgraded-in-capitals": Reply(headers={"Upgrade": "WebSocket", "Connection": "x, UPGRADE"}),
    "without-accept": Reply(headers={"Sec-WebSocket-Accept": ""}),
    "with-another-accept": Reply(headers={"Sec-WebSocket-Accept": "c29tZWJvZHkncw=="}),
    "without-subprotocol": Reply(headers={"Sec-WebSocket-Protocol": ""}),
    "with-another-subprotocol": Reply(headers={"Sec-WebSocket-Protocol": "chat"}),
    "with-an-extension-not-offered": Reply(headers={"Sec-WebSocket-Extensions": "x-own; a=1"}),
    "with-cookies": Reply(headers={"Set-Cookie": "a=1; Path=/"}),
    "followed-at-once": Reply(events=(LOG,)),
    "that-ends": Reply(cut=True),
}

_BAD = {
    "a-reserved-opcode": _whole(3, _DONE),
    "the-last-reserved-opcode": _whole(7, _DONE),
    "a-reserved-control-opcode": _whole(11),
    **{f"reserved-bit-{bit:x}": _frame(_FINAL | bit | _TEXT, _DONE) for bit in _RESERVED},
    **{f"reserved-bit-{bit:x}-in-a-ping": _frame(_FINAL | bit | _PING) for bit in _RESERVED},
    "a-continuation-of-nothing": _whole(_MORE, _DONE),
    "a-message-in-another": _frame(_TEXT, _DONE[:9]) + _whole(_TEXT, _DONE),
    "a-message-begun-in-another": _frame(_TEXT, _DONE[:9]) + _frame(_BINARY, _DONE),
    "a-masked-frame": bytes([_FINAL | _TEXT, 0x80 | len(_DONE)]) + bytes(4) + _DONE,
    "a-fragmented-ping": _frame(_PING, b"a"),
    "a-fragmented-close": _frame(_CLOSE, b"\x03\xe8"),
    "a-long-ping": _frame(_FINAL | _PING, bytes(126)),
    "a-long-close": _frame(_FINAL | _CLOSE, b"\x03\xe8" + b"x" * 124),
    "a-length-of-two-bytes-too-many": struct.pack("!BBH", _FINAL | _TEXT, 126, len(_DONE)) + _DONE,
    "a-length-of-eight-bytes-too-many": struct.pack("!BBQ", _FINAL | _TEXT, 127, 126) + bytes(126),
    "a-length-without-end": struct.pack("!BBQ", _FINAL | _TEXT, 127, 1 << 63),
    "text-of-no-encoding": _whole(_TEXT, b'"\xff"'),
    "text-of-no-encoding-in-pieces": _frame(_TEXT, b'"\xc3') + _whole(_MORE, b'"'),
    "half-a-code": _whole(_CLOSE, b"\x03"),
    "a-code-for-no-wire": _whole(_CLOSE, struct.pack("!H", 1005)),
    "a-code-of-nobody": _whole(_CLOSE, struct.pack("!H", 999)),
    "a-reason-of-no-encoding": _whole(_CLOSE, b"\x03\xe8\xff"),
}

_CLOSES = {
    "normally": _whole(_CLOSE, b"\x03\xe8bye"),
    "without-a-code": _whole(_CLOSE),
    "by-a-code-of-its-own": _whole(_CLOSE, struct.pack("!H", 4000) + b"out of hours"),
    "too-big": _whole(_CLOSE, struct.pack("!H", 1009)),
    "within-a-message": _frame(_TEXT, _DONE[:9]) + _whole(_CLOSE, b"\x03\xe9"),
    "and-says-more": _whole(_CLOSE, b"\x03\xe8") + _whole(_TEXT, _DONE),
}

_AGREED = {
    "as-it-is": "",
    "with-small-windows": "; server_max_window_bits=9; client_max_window_bits=9",
    "with-no-memory": "; server_no_context_takeover; client_no_context_takeover",
    "with-a-quoted-window": '; client_max_window_bits="10"',
    "with-a-window-too-small": "; client_max_window_bits=7",
    "with-a-window-too-large": "; server_max_window_bits=16",
    "with-a-window-of-no-size": "; server_max_window_bits",
    "with-a-flag-of-a-value": "; server_no_context_takeover=1",
    "with-a-parameter-twice": "; client_max_window_bits=9; client_max_window_bits=9",
    "with-a-parameter-of-its-own": "; level=9",
    "and-something-else": ", x-own",
}


def _deflated(message: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return (compressor.compress(message) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


_SMALL = _deflated(_DONE)
_BADLY = {
    "in-a-continuation": _frame(_TEXT, _DONE[:9]) + _frame(_FINAL | 0x40, _SMALL),
    "in-a-ping": _frame(_FINAL | 0x40 | _PING),
    "beside-another-bit": _frame(_FINAL | 0x60 | _TEXT, _SMALL),
    "as-what-is-not": _frame(_FINAL | 0x40 | _TEXT, b"\xff" * 9),
    "what-is-too-much": _frame(_FINAL | 0x40 | _TEXT, _deflated(_LONG.encode())),
}
_SAYS_MUCH: Step = {**HELLO, "arguments": {"text": "hello, and so on; " * 99}}


def _compressed(name: str, answer: str, replies: Any, *steps: Step, **members: Any) -> Reaction:
    opening = Reply(headers={"Sec-WebSocket-Extensions": f"permessage-deflate{answer}"})
    plan = Plan({"GET": (opening,), **replies})
    return _spoken(f"compresses-{name}", _DEFLATES, plan, *steps, **members)


SESSIONS: tuple[Reaction, ...] = (
    *(
        _compressed(name, answer, {}, HELLO, _SAYS_MUCH, _SAYS_MUCH, PING)
        for name, answer in _AGREED.items()
    ),
    *(
        _compressed(name, "", {"tools/call": (Reply(events=(frame,)),)}, HELLO, client=_LIMITED)
        for name, frame in _BADLY.items()
    ),
    *(
        _spoken(f"opens-{name}", _OPENS, Plan({"GET": (reply,)}), HELLO, PING)
        for name, reply in _OPENINGS.items()
    ),
    *(_framed(f"sends-{name}", _FRAMES, frame) for name, frame in _BAD.items()),
    *(_framed(f"closes-{name}", _ENDS, LOG, frame) for name, frame in _CLOSES.items()),
    _framed(
        "sends-fragments-and-pings",
        _GOOD,
        *(_frame(_TEXT, _DONE[:9]), _frame(_MORE), _whole(_PING, b"between")),
        *(_frame(_MORE, _DONE[9:20]), _whole(_PONG, b"for nobody"), _whole(_MORE, _DONE[20:])),
        _whole(_PING, bytes(125)),
        Await("pong", 2),
    ),
    _framed(
        "says-what-is-no-message",
        "JSON-RPC 2.0, 5: an answer is an object with the id of its request.",
        *("not json", "", "[]", "5", _whole(_BINARY, _DONE)),
    ),
    _framed("says-it-in-bytes", _GOOD, _whole(_BINARY, b"\xff\xfe"), ANSWER),
    *(
        _framed(f"says-too-much-{name}", "RFC 6455, 7.4.1 and 10.4: 1009.", *parts, client=_LIMITED)
        for name, parts in {
            "at-once": (_whole(_TEXT, _LONG.encode()),),
            "in-pieces": (
                _frame(_TEXT, _LONG[:1500].encode()),
                _whole(_MORE, _LONG[:501].encode()),
            ),
            "in-bytes": (_whole(_BINARY, _LONG.encode()),),
            "almost": (_frame(_TEXT, _DONE), _whole(_MORE, b" " * (2000 - len(_DONE)))),
        }.items()
    ),
    _spoken(
        "asks",
        "Elicitation, ping: what is declared is answered, by its id, over any transport.",
        Plan(
            {
                "tools/call": (
                    Reply(
                        events=(
                            asked(7, "elicitation/create", **WHO["params"]),
                            Await("answer"),
                            asked(8, "ping"),
                            Await("answer", 2),
                            ANSWER,
                        )
                    ),
                    error(-32602, "No"),
                    USUAL,
                )
            }
        ),
        *[HELLO] * 3,
        client=USER,
    ),
    _spoken(
        "stateless",
        "Versioning: the rules of an era hold over any transport; cancelling is a notification.",
        Plan(
            {"tools/call": (Reply(events=(LOG, Await("never"))), USUAL)},
            is_stateless=True,
            has_session=False,
        ),
        {**HELLO, "timeout": 0.3},
        HELLO,
    ),
    *(
        _spoken(
            f"probed-{name}",
            "Transports: a client that speaks both eras falls back to initialize.",
            Plan({"server/discover": (reply,)}),
            HELLO,
            client={"offers": None},
        )
        for name, reply in {
            "and-refused": error(-32601, "Method not found"),
            "and-older": error(-32022, "Unsupported", supported=["2025-06-18"]),
        }.items()
    ),
    *(
        _spoken(
            f"pinged-{name}",
            "RFC 6455, 5.5.2: a ping finds out whether the other side is there.",
            Plan({"ping": replies, "tools/call": (Reply(events=(Await("ping", 9), ANSWER)),)}),
            *steps,
            client={"options": {"ping_interval": 0.3, "ping_timeout": 0.2}},
        )
        for name, replies, steps in (
            ("and-answers", (USUAL,), ({"do": "pause", "seconds": 1}, PING)),
            ("and-is-silent", (Reply(events=()),), (HELLO, HELLO)),
        )
    ),
    *(
        _spoken(f"left-{name}", _ENDS, Plan({"close": (reply,)}), HELLO)
        for name, reply in {
            "and-silent": Reply(events=()),
            "and-talking": Reply(events=(LOG, _whole(_PING), _whole(_CLOSE, b"\x03\xe8"))),
            "and-talking-in-pieces": Reply(
                events=(_frame(_TEXT, b"{"), _whole(_MORE, b"}"), _whole(_CLOSE, b"\x03\xe8"))
            ),
            "and-talking-nonsense": Reply(events=(_whole(3),)),
            "and-closing-otherwise": Reply(events=(_whole(_CLOSE, struct.pack("!H", 1001)),)),
        }.items()
    ),
)

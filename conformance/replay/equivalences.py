"""In what two sessions may differ and still be the same, each with its reason.

Everything that is not named here must be as recorded. A place in a message is the path of names to
it, ``*`` for any index, after what the message is: ``request``, ``notification``, ``answer`` or its
method, ``outcome`` for what the user got, ``told`` for what he was notified of.
"""

from __future__ import annotations

import enum
import functools
import re
import sys
from dataclasses import dataclass

__all__ = [
    "HEADERS",
    "ORDER",
    "PLACES",
    "RECEIPTS",
    "Equivalence",
    "FreeOrder",
    "Treatment",
    "header_treatment",
    "is_free_order",
    "place_treatment",
]


class Treatment(enum.Enum):
    """The comparison of a value that need not be equal."""

    FREE = "not compared"
    WORDS = "compared only where this library was the client when that was recorded"
    REQUEST_ID = "must be the id of the same request"
    TOKEN = "must be there, and mean the same request and no other"
    EMPTY_IS_ABSENT = "absent means empty"
    CLIENT = "must be as recorded, but for the version of this library"
    FILE = "a URI of a file, compared without its drive"
    SET = "a list in which the order says nothing; none means anything"
    MEDIA_TYPE = "compared without parameters"


@dataclass(frozen=True)
class Equivalence:
    """One thing that may differ: where, how it is compared, and why."""

    name: str
    where: tuple[tuple[str, ...], ...]
    treatment: Treatment
    reason: str


PLACES = (
    Equivalence(
        "the id of a request",
        (("request", "id"),),
        Treatment.REQUEST_ID,
        "JSON-RPC: chosen by the sender. It must be new, and later mean the same request.",
    ),
    Equivalence(
        "the id that is cancelled",
        (("notifications/cancelled", "params", "requestId"),),
        Treatment.REQUEST_ID,
        "It repeats the id of a request.",
    ),
    Equivalence(
        "the id of a subscription",
        (("told", "params", "_meta", "io.modelcontextprotocol/subscriptionId"),),
        Treatment.REQUEST_ID,
        "It is the id of the request that began it.",
    ),
    Equivalence(
        "the progress token",
        (("request", "params", "_meta", "progressToken"),),
        Treatment.TOKEN,
        "Cancellation and progress: chosen by the sender, unique among the requests in flight.",
    ),
    Equivalence(
        "which version of this library it is",
        (
            ("request", "params", "clientInfo"),
            ("request", "params", "_meta", "io.modelcontextprotocol/clientInfo"),
            ("notification", "params", "_meta", "io.modelcontextprotocol/clientInfo"),
        ),
        Treatment.CLIENT,
        "A session recorded by this library names the version of that day, and must name its own.",
    ),
    Equivalence(
        "nothing, said or not",
        (
            ("request", "params"),
            ("request", "params", "arguments"),
            ("request", "params", "_meta"),
            ("request", "params", "context"),
            ("notification", "params"),
        ),
        Treatment.EMPTY_IS_ABSENT,
        "These members are optional in every revision, and an empty one says nothing.",
    ),
    Equivalence(
        "why something was cancelled",
        (("notifications/cancelled", "params", "reason"),),
        Treatment.WORDS,
        "An optional text for logs; each client has its own.",
    ),
    Equivalence(
        "the words of an error",
        (("answer", "error", "message"), ("answer", "error", "data")),
        Treatment.WORDS,
        "JSON-RPC: a short description for people; the code is what is compared with others.",
    ),
    Equivalence(
        "how a failure is described",
        (("outcome", "detail"), ("told", "params", "error")),
        Treatment.WORDS,
        "Each client has its own exceptions; the kind of the failure is compared with others.",
    ),
)
if sys.platform == "win32":
    PLACES += (
        Equivalence(
            "the drive of a root",
            (("answer", "result", "roots", "*", "uri"),),
            Treatment.FILE,
            "A path that is absolute elsewhere is one of the current drive on Windows.",
        ),
    )
"""Of messages."""

HEADERS = (
    Equivalence(
        "headers of the connection",
        (("connection",), ("keep-alive",), ("content-length",), ("transfer-encoding",)),
        Treatment.FREE,
        "HTTP/1.1: they say how this connection is used; the body itself is compared.",
    ),
    Equivalence(
        "headers about the client's taste",
        (
            ("user-agent",),
            ("accept-language",),
            ("accept-encoding",),
            ("cache-control",),
            ("pragma",),
            ("priority",),
        ),
        Treatment.FREE,
        "HTTP: preferences that carry no meaning of this protocol.",
    ),
    Equivalence(
        "headers of a browser",
        (("sec-fetch-mode",), ("sec-fetch-site",), ("sec-fetch-dest",)),
        Treatment.FREE,
        "The fetch of a JavaScript runtime sends them, whoever calls it.",
    ),
    Equivalence(
        "what is accepted",
        (("accept",),),
        Treatment.SET,
        "RFC 9110, 12.5.1: order says nothing without weights; no header accepts anything.",
    ),
    Equivalence(
        "the content type",
        (("content-type",),),
        Treatment.MEDIA_TYPE,
        "JSON is UTF-8 with or without a charset parameter.",
    ),
    Equivalence(
        "the opening of a WebSocket",
        (("sec-websocket-key",), ("sec-websocket-extensions",)),
        Treatment.FREE,
        "RFC 6455: the key is random, and checked by itself; extensions are an offer.",
    ),
)
"""Of heads of requests, by the name of the header. Order and case of names never matter."""


@dataclass(frozen=True)
class FreeOrder:
    """Two things a client does whose order says nothing, as `comparing.described` names them."""

    name: str
    one: str
    other: str
    reason: str


ORDER = (
    FreeOrder(
        "an answer and a request of one's own",
        r"\banswer to ",
        r"^(POST \S+ )?(?!notifications/)\w+/",
        "JSON-RPC: each side may send requests while it has some to answer.",
    ),
    FreeOrder(
        "the end of a response",
        r"^the end of http-\d+$",
        r"",
        "HTTP: a closed connection says that no more is read from it, and nothing of any other.",
    ),
)
if sys.platform == "win32":
    ORDER += (
        FreeOrder(
            "two requests of HTTP",
            r"^POST ",
            r"^POST ",
            "Windows tells in any order what has come over several connections.",
        ),
    )
"""What may come in another order than recorded."""

RECEIPTS = frozenset({202, 307, 308})
"""The statuses that say only that a message was taken, or where. What else a client sends while it
waits for one does not depend on it, so it may come earlier than recorded."""

_TREATMENTS = {where: rule.treatment for rule in (*PLACES, *HEADERS) for where in rule.where}


def header_treatment(name: str) -> Treatment | None:
    """Return how a header is compared; None: it must be equal."""
    return _TREATMENTS.get((name,))


@functools.cache
def place_treatment(kinds: tuple[str, ...], path: tuple[str, ...]) -> Treatment | None:
    """Return how a value in a message of these kinds is compared; None: it must be equal."""
    path = tuple("*" if name.isdigit() else name for name in path)
    found = (_TREATMENTS.get((kind, *path)) for kind in kinds)
    return next(filter(None, found), None)


def is_free_order(one: str, other: str) -> bool:
    """Whether it says nothing which of these two a client does first."""
    return any(
        re.search(free.one, first) and re.search(free.other, second)
        for free in ORDER
        for first, second in ((one, other), (other, one))
    )

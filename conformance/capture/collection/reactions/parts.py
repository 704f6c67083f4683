"""The parts of reactions: the plan of a server, and what the user of the client does.

The replies of a plan are taken in order for each kind of message, the last one for good: a method
of JSON-RPC, ``answer`` for a response of the client, ``GET`` and ``DELETE`` of the endpoint, and
``POST /token`` and the like for what else is asked over HTTP. A `Reply()` is what any server does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conformance.scripts import HANDSHAKE, MCPCLIENT, STATELESS, Script, Step

ANSWER = object()
"""Stands for the answer to the request among the events of a stream, or the lines of stdio."""


ORIGIN = "http://127.0.0.1:50000"
"""Stands for where the server is."""


class Await(NamedTuple):
    """Say no more until as many of these have come."""

    key: str
    times: int = 1


class Told(NamedTuple):
    """A message with fields of an event before its data, such as ``"id: 1\\n"``."""

    fields: str
    message: Any = ANSWER


@dataclass(frozen=True)
class Reply:
    """The answer to one message.

    ``events``: messages, strings that are written as they are, `ANSWER`, `Told` and `Await`: an
    event stream, or lines of stdio. ``cut``: the connection ends in the middle of that. With the
    ``status`` 0, ``body`` is all that is written. ``after``: it begins when that has come.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    body: bytes | None = None
    events: tuple[Any, ...] | None = None
    cut: bool = False
    after: Await | None = None


@dataclass(frozen=True)
class Plan:
    """A server: what it says to what, and what it is.

    ``version``: the only one it answers `initialize` with. ``metadata``: of its authorization
    server. ``token_seconds``: how long a token lasts. ``path``: of its endpoint
    over HTTP, which `targets.OTHER_PATHS` repeats.
    """

    replies: Mapping[str, tuple[Reply, ...]] = field(default_factory=dict)
    is_stateless: bool = False
    has_session: bool = True
    login: bool = False
    version: str | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    token_seconds: int = 3600
    path: str = "/mcp"


USUAL = Reply()
DROPPED = Reply(0, cut=True)
"""A connection that ends without an answer."""


def error(code: int, message: str = "No", status: int = 200, **data: Any) -> Reply:
    """Return an answer that is an error of JSON-RPC, under a status of HTTP."""
    found = {"code": code, "message": message, **({"data": data} if data else {})}
    return Reply(status, error=found)


def plain(status: int, text: str = "", **headers: str) -> Reply:
    """Return an answer other than a message."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"Content-Type": "text/plain", **named}, body=text.encode())


def stream(*events: Any, cut: bool = False, status: int = 200) -> Reply:
    """Return an answer that is an event stream."""
    return Reply(status, events=events, cut=cut)


def told(method: str, **params: Any) -> dict[str, Any]:
    """Return a notification of the server's."""
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def asked(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    """Return a request of the server's."""
    return {**told(method, **params), "id": number}


LOG = told("notifications/message", level="info", data="said meanwhile")
TOOLS_CHANGED = told("notifications/tools/list_changed")
RESOURCES_CHANGED = told("notifications/resources/list_changed")

HELLO: Step = {"do": "call_tool", "name": "echo", "arguments": {"text": "hello"}}
PING: Step = {"do": "ping"}
LIST_TOOLS: Step = {"do": "list_tools"}


def wait(method: str, count: int = 1) -> Step:
    """Return a step that waits for notifications."""
    return {"do": "wait_for", "method": f"notifications/{method}", "count": count}


class Reaction(NamedTuple):
    """One session: the server's acts, by its plan, and the user's."""

    plan: Plan
    script: Script


def reaction(name: str, clause: str, plan: Plan, *steps: Step, **members: Any) -> Reaction:
    """Return a session in which this library is the client, unless ``driver`` says who is.

    ``clause``: what the specification says of it. ``members``: of the script.
    """
    members.setdefault("driver", MCPCLIENT)
    members.setdefault("revision", STATELESS if plan.is_stateless else HANDSHAKE)
    if members["driver"] == MCPCLIENT:
        members["client"] = {"offers": members["revision"], **members.get("client", {})}
        members["clause"] = clause
    transports = tuple(members.pop("transports", "http").split())
    return Reaction(plan, Script("reaction", f"scripted-{name}", steps, transports, **members))


def called(name: str, clause: str, *replies: Reply, **members: Any) -> Reaction:
    """Return a session whose calls are answered in these ways, and one more as usual."""
    plan = Plan({"tools/call": (*replies, USUAL)})
    return reaction(name, clause, plan, *[HELLO] * len(replies), PING, **members)


GONE = error(-32001, "Session not found", 404)
AGAIN = "Session Management: a client that receives 404 for a session MUST start a new one."
RESUMES = (
    "Streamable HTTP, Resumability and Redelivery: a client that resumes after a broken connection "
    "SHOULD issue a GET with Last-Event-ID; MUST respect retry."
)
"""Clauses, and the answer, of sessions that are lost and streams that go on."""


def cookies(*fields: str) -> Reply:
    """Return a response that sets cookies, each in a field of its own."""
    return Reply(200, {"Set-Cookie": "\r\nSet-Cookie: ".join(fields)})

"""Scripts: the actions of a client's user in one session, as data.

A script is run by reference clients (`conformance.capture`), which leave a transcript with the
script in its header, and by this library when the transcript is replayed. Its steps are JSON
objects that say what to ``do``, one after the other; the session is opened before the first and
closed after the last.

Of every server:

- ``ping``
- ``list_tools``, ``list_resources``, ``list_resource_templates``, ``list_prompts``: all pages. The
  outcome is a list.
- ``call_tool {name, arguments, progress?, timeout?, total?, meta?}``: ``progress: true`` asks for
  progress; ``timeout`` is in seconds, counted anew when progress comes, and ``total`` in seconds
  that are not. With progress and a timeout, time matters: such a session is replayed as fast as it
  was recorded. ``meta`` is what the user puts into ``_meta``.
- ``request {method, params?}``: of this library: any request, by its method.
- ``call_tools {calls, cancelled_after?}``: of this library: call several tools at once, each
  ``[name, arguments]``; the outcome is a list. They may be cancelled after some seconds.
- ``cancel_call {name, arguments, after}``: call a tool and ask for progress; cancel the call when
  the first ``progress`` arrives, or when the handler of the first ``request`` of the server is
  asked.
- ``read_resource {uri, meta?, fresh?}``, ``get_prompt {name, arguments?}``
- ``complete {ref, argument, value, context?}``: ``ref`` as it stands on the wire; ``context`` holds
  the arguments that are known already.
- ``together {steps}``: start all steps, in their order, and wait for all.
- ``pause {seconds}``
- ``connect_again``: of this library: close, and connect to the same server.
- ``wait_for {method, count}``: until as many such notifications have come since the session began.
- ``set_log_level {level}``: in the stateless era it travels with every later call of a tool.

Of the handshake era:

- ``subscribe {uri}``, ``unsubscribe {uri}``
- ``set_roots {roots}``: answer with these from now on, and tell the server that they changed.
- ``call_tool_task {name, arguments, ttl?, progress?}``: the outcome is the task as it was created;
  ``ttl`` is in milliseconds.
- ``get_task {task}``, ``task_result {task}``, ``cancel_task {task}``: of the task that the script
  created as its first (0), second (1) …
- ``await_task {task}``: ask for it until it is over, as often as its ``pollInterval`` says, or it
  wants input; the outcome is the task.
- ``list_tasks``: all pages. The outcome is a list.
- ``terminate_session``: end the session of Streamable HTTP.

Of the stateless era:

- ``listen {tools?, prompts?, resources?, uris?, steps, until}``: listen for changes of these lists
  and of the resources at ``uris``; when the server has said yes, do the steps, wait as ``until
  {method, count}`` says, and stop listening.

Steps are numbered from 0, those inside ``together`` and ``listen`` right after it: see `numbered`.

A script's ``client`` says what the client declares and how its user answers:

- ``capabilities``: as they stand on the wire. Notifications of progress, changes and logging are
  taken in any case.
- ``sampling``, ``elicitation``: the answers, in order, the last for all that come after. An answer
  is the result, which may come ``after`` some seconds, or ``{"error": {"code", "message"}}``, or
  ``{"raises": words}``: the user's function fails, or ``{"refuses": {"code", …}}``: it fails with
  an error of its own, or ``{"stops": true}``: it cancels itself, or ``{"never": true}``: it never
  comes, or ``{"late": result}``: it comes when the server has withdrawn its request, or, should
  the client not have been told, when the next step begins.
- ``roots``: the roots, to begin with.
- ``headers``: headers that the caller adds to each request of HTTP.
- ``connect_timeout``: how long connecting may take, in seconds.
- ``retry_busy``: whether a request that a busy server refuses is sent again when it said.
- ``either``: whether Streamable HTTP is tried before legacy SSE.
- ``keep_alive``: after how many seconds this library pings.
- ``tells_completion``: this library's user learns which of his visits are complete.
- ``offers``: the revision that this library asks for; null: the newest, and others after it.
- ``options``: others of this library, by their names: ``limits`` and ``reconnect`` with their
  fields, ``roots_when_asked`` and ``headers_when_asked`` for functions, ``model`` for one that
  answers sampling, ``headers_printed`` for a program, and ``watched`` for hooks, one of which
  writes in capitals.

Its ``auth``, for a protected server, says how to log in:

- ``{"grant": "authorization_code"}``: register dynamically, unless ``client_id`` is given, perhaps
  with a ``client_secret``; the user says yes to everything.
- ``{"grant": "client_credentials", "client_id", "client_secret"}``
- either with a ``scope`` to ask for, and other ``options`` of this library.
- ``{"grant": "key"}`` or ``{"grant": "bearer"}`` with a ``value``: sent as it is.
- ``{"grant": "enterprise", "value"}``: exchange an identity with the provider in the options.
- ``{"grant": "workload", "value"}``: exchange the token of a platform for one of the server's.

Outcomes, in the notes of a transcript (``channel`` is ``script``):

- ``{"connected": {"protocol_version", "server", "capabilities", "instructions"?}}``, or an outcome
  that is not a result.
  A program that does not tell its user leaves it out.
- ``{"step": N, "do": …, "begins": true}``, which a program does not do by itself.
- ``{"step": N, "outcome": …}``: ``{"result": …}`` as the user got it, or ``{"error": {"code",
  "message", "data"?}}`` as the server sent it, or ``{"failed": …, "detail": …}``: what went wrong
  on the way, one of `FAILURES`, and how the client says so. With it, if any came, ``progress``: a
  list of ``{"progress", "total"?, "message"?}``.
- ``{"notification": {"method", "params"?}}``: what the user learned, in order.
- ``{"visited": {"url", "location"}}``: where the user was sent to log in, and where that led.
- ``{"closed": true}``: the script is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Step = Mapping[str, Any]
"""One thing to do, as the module's docstring says."""

STEPS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(required.split()), frozenset(optional.split()))
    for name, required, optional in (
        ("ping", "", ""),
        ("list_tools", "", "timeout total"),
        ("list_resources", "", ""),
        ("list_resource_templates", "", ""),
        ("list_prompts", "", ""),
        ("call_tool", "name arguments", "progress timeout total meta"),
        ("call_tools", "calls", "cancelled_after"),
        ("request", "method", "params"),
        ("cancel_call", "name arguments after", ""),
        ("read_resource", "uri", "meta fresh"),
        ("get_prompt", "name", "arguments"),
        ("complete", "ref argument value", "context"),
        ("together", "steps", ""),
        ("pause", "seconds", ""),
        ("connect_again", "", ""),
        ("wait_for", "method count", ""),
        ("set_log_level", "level", ""),
        ("subscribe", "uri", ""),
        ("unsubscribe", "uri", ""),
        ("set_roots", "roots", ""),
        ("call_tool_task", "name arguments", "ttl progress"),
        ("get_task", "task", ""),
        ("await_task", "task", ""),
        ("task_result", "task", ""),
        ("cancel_task", "task", ""),
        ("list_tasks", "", ""),
        ("terminate_session", "", ""),
        ("listen", "steps until", "tools prompts resources uris"),
    )
}
"""Of every kind of step: the members it must have, and those it may have."""

CLIENT = frozenset(
    {
        *("capabilities", "sampling", "elicitation", "roots"),
        *("headers", "connect_timeout", "retry_busy", "either", "offers", "keep_alive"),
        "tells_completion",
        "options",
    }
)
"""What is said of the client and its user."""

FAILURES = frozenset({"timeout", "cancelled", "closed", "http", "unauthorized", "refused", "other"})
"""What a step can fail of, where the server did not answer with an error of JSON-RPC.

``http`` is a status other than success, ``refused`` what the client would not even ask for, or an
answer that it would not take.
"""

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"

SDK1 = "sdk1"
"""``@modelcontextprotocol/sdk``, which speaks the handshake era."""

CLIENT2 = "client2"
"""``@modelcontextprotocol/client``, which speaks both eras and asks for the stateless one first."""

PYTHON1 = "python1"
"""``mcp`` 1.x of PyPI, the Python SDK, which speaks the handshake era."""

PYTHON2 = "python2"
"""``mcp`` 2.x, which speaks both eras and asks for the stateless one first."""

INSPECTOR = "inspector"
"""The command line of the official Inspector."""

MCPCLIENT = "mcpclient"
"""This library, where no SDK's client reacts: what it does is judged by a clause."""

CODEX = "codex"
"""Codex, a host whose client is the official SDK in Rust."""

_SUFFIXES = {
    PYTHON1: "-by-python",
    PYTHON2: "-by-python",
    INSPECTOR: "-by-inspector",
    CODEX: "-by-codex",
}


@dataclass(frozen=True)
class Script:
    """One session: which server is met over which transports, by whom, and its steps."""

    name: str
    server: str
    """A name of `conformance.capture.targets`."""
    steps: tuple[Step, ...]
    transports: tuple[str, ...] = ("stdio", "http")
    """Of ``stdio``, ``http``, ``sse``, ``ws``."""
    revision: str = HANDSHAKE
    """The protocol version that is negotiated."""
    driver: str = SDK1
    """The client: `SDK1`, `CLIENT2`, `PYTHON1`, `PYTHON2`, `INSPECTOR`, `CODEX` or `MCPCLIENT`."""
    client: Mapping[str, Any] = field(default_factory=dict)
    auth: Mapping[str, Any] | None = None
    clause: str = ""
    """What the specification says of the reaction, by which `MCPCLIENT` is judged."""

    def transcript_name(self) -> str:
        """Return the name of the transcript's file, without the folder of its transport."""
        name = f"{self.server}-{self.name}"
        if self.revision != HANDSHAKE and self.revision not in name and self.driver != MCPCLIENT:
            name += f"-{self.revision}"
        return f"{name}{_SUFFIXES.get(self.driver, '')}.jsonl"

    def folder(self, transport: str) -> str:
        """Return the folder of its transcript: this library's are counted apart."""
        return f"own-{transport}" if self.driver == MCPCLIENT else transport

    def as_json(self) -> dict[str, Any]:
        """Return the ``script`` in the header of a transcript."""
        return {name: value for name, value in asdict(self).items() if value or name != "clause"}


def numbered(steps: Iterable[Step]) -> Iterator[tuple[int, Step]]:
    """Yield every step with its number, also those inside other steps."""
    return enumerate(_flat(steps))


def _flat(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _flat(step.get("steps", ()))


def problems(script: Script) -> Iterator[str]:
    """Yield the words of a script that are not in the vocabulary."""
    for number, step in numbered(script.steps):
        do = step.get("do")
        if do not in STEPS:
            yield f"{script.name}: step {number} is no known step: {do!r}"
            continue
        required, optional = STEPS[do]
        members = step.keys() - {"do"}
        for name in required - members:
            yield f"{script.name}: step {number} ({do}) needs {name!r}"
        for name in members - required - optional:
            yield f"{script.name}: step {number} ({do}) does not know {name!r}"
    for name in script.client.keys() - CLIENT:
        yield f"{script.name}: the client does not know {name!r}"

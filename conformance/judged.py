"""The messages of this library, and those to it, judged by the specification's own schemas.

Each recorded session is replayed once. The meetings of the other parts that were run leave what
went over the wire (`conformance.traces`); of bridges, that is what they say to their servers and to
their hosts. Every message must be valid by the schema that the revision of the message publishes,
or be listed with the reason why it is not, and our validator and one that is not ours must agree.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Callable, NamedTuple

from conformance import replay, traces
from conformance.capture.taps import RECEIVED, SENT
from conformance.published import CHECKOUT, REVISIONS
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.eras import memories_apart
from conformance.replay.idle_clock import run_unhurried
from conformance.replay.recorded import revision_offered
from conformance.results import FAILED, LEFT_OUT, PASSED, TRANSPORT_OF, Row
from conformance.traces import Traffic
from mcpclient.protocol.schema import SchemaLimits, compile_schema
from mcpclient.recording.transcript import Transcript, message_of

_VERSION = "io.modelcontextprotocol/protocolVersion"
_ANY = "JSONRPCMessage"
_DIFFER = "the validators differ"
SCRIPTED = "scripted"
"""For the sessions of a server that does what it must not: its messages need not be valid."""
_LIMITS = SchemaLimits(validation_steps=5_000_000)

# What is not valid by the published schema and yet no fault of this library: a regular expression
# for revision, method and verdict, and the reason. A bridge passes on what its server says.
FLAWS = {
    r"^2025-11-25 answer to elicitation/create: at /content/\w+: [\d.]+ matches none of ": (
        "content may hold a number (schema.ts, ElicitResult); schema.json has integers only"
    ),
    r"^\S+ answer to nothing: at /id: null is not ": (
        "JSON-RPC has null for an id that could not be read, the schema leaves it out"
    ),
    r"^2026-07-28 answer to (server/discover|tools/call): .*'resultType' is missing": (
        "scenarios of the official suite leave it out, on purpose or with the whole result"
    ),
    r"^\S+ \w+/list: at /params/cursor: \S+ is not a string$": (
        "a cursor goes back as it came, whatever its type: to a client it is opaque"
    ),
    r"^2024-11-05 answer to tools/call: .*'(resource_link|audio)' is none of ": (
        "servers of the SDKs send content that the revision does not have yet"
    ),
    r"^2025-03-26 answer to tools/call: .*'resource_link' is none of ": (
        "servers of the SDKs send content that the revision does not have yet"
    ),
}

RELAYED = {
    r"^2026-07-28 (server/discover: at /params|tools/call: at /params/inputResponses)\b": (
        "the official suite asks servers what is ill-formed, and a bridge passes it on as it came"
    ),
}
"""Flaws of what hosts send through a bridge, which belong to no message of this library's own."""

Verdict = Callable[[Any], str]
"""Says what is wrong with a message; nothing where it is valid."""


class Told(NamedTuple):
    """A message, its revision, and the method of it or of its request."""

    revision: str
    method: str
    message: Any


def run(folder: Path = CHECKOUT) -> Iterator[Row]:
    """Yield a row for all that was sent, and one for all that was received, in like meetings."""
    if not (folder / "schema").is_dir():
        yield Row("judged", "every message", LEFT_OUT, f"there is no {folder / 'schema'}")
        return
    every = [*_replayed(), *traces.traffic()]
    for place in sorted({(each.part, each.transport) for each in every}):
        here = [each for each in every if (each.part, each.transport) == place]
        sent: list[Told] = []
        received: list[Told] = []
        for each in here:
            spoken = each.spoken or _spoken([*each.received, *each.sent])
            sent += _told(each.sent, each.received, spoken)
            received += _told(each.received, each.asked or each.sent, spoken)
        yield from _rows("sent by this library", place, sent, folder)
        yield from _rows("received", place, received, folder, is_odd=place[0] == SCRIPTED)


def _rows(
    who: str,
    place: tuple[str, str],
    messages: Iterable[Told],
    folder: Path,
    *,
    is_odd: bool = False,
) -> Iterator[Row]:
    """Judge each message of a revision, and count.

    ``is_odd``: the messages may be invalid, and the validators must agree only.
    """
    flaws = {**FLAWS, **(RELAYED if place[0] == "bridged" else {})}
    counts: dict[str, Counter[str]] = {revision: Counter() for revision in REVISIONS}
    wrong: dict[str, list[str]] = {revision: [] for revision in REVISIONS}
    for told in messages:
        if told.revision in counts:
            counts[told.revision][told.method] += 1
            found = _fault(folder, told)
            text = f"{told.method}: {found}"
            is_known = any(re.search(flaw, f"{told.revision} {text}") for flaw in flaws)
            is_known |= is_odd and not found.startswith(_DIFFER)
            wrong[told.revision] += [text] if found and not is_known else []
    part, transport = place
    for revision, methods in counts.items():
        total, bad = sum(methods.values()), wrong[revision]
        if total:
            said = "; ".join(dict.fromkeys(bad)) or f"{total} messages of {len(methods)} kinds"
            outcome = FAILED if bad else PASSED
            name = f"{who}, {part}, {revision} over {transport}, by {validator_name()}"
            yield Row("judged", name, outcome, said, revision, transport, total, total - len(bad))


def _replayed() -> list[Traffic]:
    """Return the messages of every recorded session, each of which is replayed once."""

    async def meet(name: str, transcript: Transcript, turns: asyncio.Semaphore) -> Traffic:
        async with turns:
            report = await replay.replay(name, transcript, CHUNKINGS[0])
        spoken = transcript.header["protocol_version"] or revision_offered(transcript) or ""
        heard, asked = (
            [
                message
                for one in transcript.records
                if one["direction"] == direction and (message := message_of(one)) is not None
            ]
            for direction in (RECEIVED, SENT)
        )
        return Traffic(
            SCRIPTED if "/scripted-" in name else "replay",
            TRANSPORT_OF[transcript.header["transport"]],
            report.sent,
            heard,
            spoken,
            asked,
        )

    async def meet_all() -> list[Traffic]:
        turns = asyncio.Semaphore(8)  # before Python 3.10 it belongs to the loop that is running
        every = replay.transcripts().items()
        return await asyncio.gather(*(meet(name, transcript, turns) for name, transcript in every))

    with replay.without_logs(), memories_apart():
        return run_unhurried(meet_all())


def _told(messages: Iterable[Any], others: Iterable[Any], spoken: str) -> Iterator[Told]:
    """Yield each message of one side of a connection; ``spoken``: the revision of it all."""
    asked = {repr(each["id"]): each for each in _each(others) if "method" in each and "id" in each}
    for message in _each(messages):
        if "jsonrpc" not in message:
            continue  # a form or a document of a login
        if "method" in message:
            yield Told(_offered(message) or spoken, str(message["method"]), message)
            continue
        question = asked.get(repr(message.get("id")), {})
        method = question.get("method", "nothing")
        revision = "" if method == "initialize" else _offered(question)
        yield Told(revision or spoken, f"answer to {method}", message)


def _offered(message: Mapping[str, Any]) -> str:
    """Return the revision that a request names, if it does."""
    params = message.get("params")
    params = params if isinstance(params, Mapping) else {}
    meta = params.get("_meta")
    named = params.get("protocolVersion") if message.get("method") == "initialize" else ""
    return str((meta.get(_VERSION) if isinstance(meta, Mapping) else "") or named or "")


def _spoken(both: Iterable[Any]) -> str:
    """Return the revision of a connection: the agreed one, or the last that a request names."""
    named = ""
    for message in _each(both):
        result = message.get("result")
        if isinstance(result, dict) and "protocolVersion" in result:
            return str(result["protocolVersion"])
        named = _offered(message) or named
    return named


def _each(bodies: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for body in bodies:
        batch = body if isinstance(body, list) else [body]
        yield from (each for each in batch if isinstance(each, Mapping))


def _fault(folder: Path, told: Told) -> str:
    """Return the fault of a message; both validators must find it valid, or neither."""
    verdicts = _verdicts(folder, told.revision, _definition(folder, *told))
    found = [verdict(_judged(told.message)) for verdict in verdicts]
    return found[0] if len(set(map(bool, found))) == 1 else f"{_DIFFER}: {found}"


def _judged(message: Mapping[str, Any]) -> Any:
    """Return what its definition is about: of an answer only the result."""
    return message.get("result", message)


def _definition(folder: Path, revision: str, method: str, message: Mapping[str, Any]) -> str:
    """Return the name of the definition of a message, or of the general one."""
    by_method = _by_method(folder, revision)
    result = message.get("result")
    if not isinstance(result, Mapping):
        return by_method.get(method, _ANY) if "method" in message else _ANY
    if result.get("resultType") == "input_required":
        return "InputRequiredResult"
    if "task" in result and "CreateTaskResult" in _document(folder, revision)[1]:
        return "CreateTaskResult"
    return "Result" if result.get("resultType") == "task" else by_method.get(method, "Result")


@cache
def _by_method(folder: Path, revision: str) -> dict[str, str]:
    """Return the definitions of messages by method, and of results by the method answered."""
    found: dict[str, str] = {}
    definitions = _document(folder, revision)[1]
    for name, each in definitions.items():
        method = each.get("properties", {}).get("method", {}).get("const")
        if method:
            found[method] = name
            result = name.replace("Request", "Result")
            if name.endswith("Request") and result in definitions:
                found[f"answer to {method}"] = result
    return found


@cache
def _document(folder: Path, revision: str) -> tuple[dict[str, Any], dict[str, Any]]:
    document = json.loads((folder / "schema" / revision / "schema.json").read_text("utf-8"))
    return document, document.get("$defs") or document["definitions"]


@cache
def _verdicts(folder: Path, revision: str, name: str) -> list[Verdict]:
    """Return the verdicts of our validator and, where it is installed, of the other."""
    document, _ = _document(folder, revision)
    place = "$defs" if "$defs" in document else "definitions"
    schema = {**document, "$ref": f"#/{place}/{name}"}
    ours = compile_schema(schema, limits=_LIMITS)
    verdicts: list[Verdict] = [lambda value: "; ".join(map(str, ours.validate(value)))]
    other = _other_validator()
    if other is not None:
        validator = other.validators.validator_for(schema)(schema)
        verdicts.append(lambda value: "; ".join(e.message for e in validator.iter_errors(value)))
    return verdicts


def validator_name() -> str:
    """Return whose verdict it is."""
    return "both validators" if _other_validator() else "ours (jsonschema is not installed)"


@cache
def _other_validator() -> Any:
    try:
        return importlib.import_module("jsonschema")
    except ImportError:
        return None

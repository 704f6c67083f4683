"""What this library sends in the recorded sessions, judged by the specification's own schemas.

Each session is replayed once. What the library sends in it must be valid by the schema that the
revision of the message publishes, by a validator that is not ours where there is one. The messages
of the recorded servers must get the same verdict of both.
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
from typing import Any, Callable

from conformance import replay
from conformance.published import CHECKOUT, REVISIONS
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.eras import memories_apart
from conformance.replay.idle_clock import run_unhurried
from conformance.replay.recorded import revision_offered
from conformance.results import FAILED, LEFT_OUT, PASSED, Row
from mcpclient.protocol.schema import SchemaLimits, compile_schema
from mcpclient.recording.transcript import Transcript

_VERSION = "io.modelcontextprotocol/protocolVersion"
_LIMITS = SchemaLimits(validation_steps=5_000_000)

# Where a published schema says less than its source, schema.ts, and than the text of the revision.
FLAWS = {
    "2025-11-25": (
        r"^answer to elicitation/create: at /content/\w+: [\d.]+ matches none of ",
        "content may hold a number (schema.ts, ElicitResult); schema.json has integers only",
    ),
}

Verdict = Callable[[Any], str]
"""Says what is wrong with a message; nothing where it is valid."""


def run(folder: Path = CHECKOUT) -> Iterator[Row]:
    """Yield a row for what is sent in each revision, and one for each that servers spoke."""
    if not (folder / "schema").is_dir():
        yield Row("judged", "every message", LEFT_OUT, f"there is no {folder / 'schema'}")
        return
    sent, received = _messages()
    yield from _rows("sent by this library", sent, folder, _is_valid)
    yield from _rows("received from the servers", received, folder, _is_agreed)


def _rows(
    who: str,
    messages: Iterable[tuple[str, str, Any]],
    folder: Path,
    judge: Callable[[Path, str, str, Any], str],
) -> Iterator[Row]:
    """Judge each message of a revision, ``(revision, method, message)``, and count."""
    counts: dict[str, Counter[str]] = {revision: Counter() for revision in REVISIONS}
    wrong: dict[str, list[str]] = {revision: [] for revision in REVISIONS}
    for revision, method, message in messages:
        if revision in counts:
            counts[revision][method] += 1
            found = judge(folder, revision, method, message)
            text = f"{method}: {found}"
            flaw, _ = FLAWS.get(revision, ("^$", ""))
            wrong[revision] += [text] if found and not re.search(flaw, text) else []
    for revision, methods in counts.items():
        total, bad = sum(methods.values()), wrong[revision]
        if total:
            said = "; ".join(dict.fromkeys(bad)) or f"{total} messages of {len(methods)} kinds"
            outcome = FAILED if bad else PASSED
            name = f"{who}, {revision}, by {validator_name()}"
            yield Row("judged", name, outcome, said, revision, "", total, total - len(bad))


def _messages() -> tuple[list[tuple[str, str, Any]], list[tuple[str, str, Any]]]:
    """Return what the library sends and what it gets when every session is replayed once."""

    async def meet(name: str, transcript: Transcript, turns: asyncio.Semaphore) -> None:
        async with turns:
            report = await replay.replay(name, transcript, CHUNKINGS[0])
        spoken = transcript.header["protocol_version"] or revision_offered(transcript) or ""
        heard = [one["message"] for one in transcript.records if _is_message(one, "received")]
        asked = [one["message"] for one in transcript.records if _is_message(one, "sent")]
        sent.extend(_told(report.sent, heard, spoken))
        received.extend(_told(heard, asked, spoken))

    async def meet_all() -> None:
        turns = asyncio.Semaphore(8)  # before Python 3.10 it belongs to the loop that is running
        every = replay.transcripts().items()
        await asyncio.gather(*(meet(name, transcript, turns) for name, transcript in every))

    sent: list[tuple[str, str, Any]] = []
    received: list[tuple[str, str, Any]] = []
    with replay.without_logs(), memories_apart():
        run_unhurried(meet_all())
    return sent, received


def _is_message(record: Mapping[str, Any], direction: str) -> bool:
    return record["direction"] == direction and "message" in record


def _told(
    messages: Iterable[Any], others: Iterable[Any], spoken: str
) -> Iterator[tuple[str, str, Any]]:
    """Yield each message with its revision and its method, or the method that it answers."""
    asked = {
        each["id"]: each["method"] for each in _each(others) if "method" in each and "id" in each
    }
    for message in _each(messages):
        if "jsonrpc" not in message:
            continue  # a form or a document of a login
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        said = params.get("protocolVersion") if message.get("method") == "initialize" else None
        method = message.get("method") or f"answer to {asked.get(message.get('id'), 'nothing')}"
        yield meta.get(_VERSION) or said or spoken, method, message


def _each(bodies: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for body in bodies:
        yield from (each for each in (body if isinstance(body, list) else [body]) if each)


def _is_valid(folder: Path, revision: str, method: str, message: Any) -> str:
    verdicts = _verdicts(folder, revision, _definition(folder, revision, method, message))
    return next(filter(None, (verdict(_judged(message)) for verdict in verdicts)), "")


def _is_agreed(folder: Path, revision: str, method: str, message: Any) -> str:
    verdicts = _verdicts(folder, revision, _definition(folder, revision, method, message))
    found = [verdict(_judged(message)) for verdict in verdicts]
    return "" if len(set(map(bool, found))) == 1 else f"the validators differ: {found}"


def _judged(message: Mapping[str, Any]) -> Any:
    """Return what its definition is about: of an answer only the result."""
    return message.get("result", message)


def _definition(folder: Path, revision: str, method: str, message: Mapping[str, Any]) -> str:
    """Return the name of the definition of a message, or of the general one."""
    by_method = _by_method(folder, revision)
    if "result" in message:
        return by_method.get(method, "Result")
    return by_method.get(method, "JSONRPCMessage") if "method" in message else "JSONRPCMessage"


@cache
def _by_method(folder: Path, revision: str) -> dict[str, str]:
    """Return the definitions of messages by method, and of results by what they answer."""
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

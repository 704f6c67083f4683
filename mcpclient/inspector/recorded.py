"""Descriptions of recorded servers and calls for the page, from the spans of their journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from ..recording.judging import message_of
from .described import LISTS, era_name
from .spans import Span

_OPENING = ("initialize", "server/discover")

Described = Mapping[str, Any]
"""A request and its outcome, as `described_call` returns it."""


def described_call(span: Span, line: Callable[[int], str | None]) -> dict[str, Any]:
    """Return a request: ``number``, ``method``, ``params``, ``seconds`` and ``outcome``.

    ``line`` returns a record. The outcome is a result, a JSON-RPC error, a failure, or
    ``{"http": status}``; None while there is none.
    """
    request, ended = line(span.number), None if span.end is None else line(span.end)
    params = _message(request, "method", span.method).get("params")
    record = json.loads(ended) if ended is not None else {}
    outcome = record.get("error")
    if span.state in ("done", "failed") and "error" not in record:
        answer = message_of(record)
        answer = answer[-1] if isinstance(answer, list) and answer else answer
        if isinstance(answer, dict):
            outcome = answer.get("error", answer.get("result"))
        else:
            outcome = {"http": record.get("http", {}).get("status")}
    seconds = None if span.ended is None else round(span.ended - span.began, 6)
    number, method = span.number, span.method
    return {
        **{"number": number, "method": method, "params": params},
        **{"seconds": seconds, "outcome": outcome},
    }


def _message(line: str | None, member: str, value: str) -> Mapping[str, Any]:
    message = message_of(json.loads(line)) if line is not None else None
    found = message if isinstance(message, list) else [message]
    fits = (each for each in found if isinstance(each, dict) and each.get(member) == value)
    return next(fits, {})


def described_recording(header: Mapping[str, Any], calls: Iterable[Described]) -> dict[str, Any]:
    """Return what `described_client` does, as far as a recording holds it."""
    opening: Mapping[str, Any] = {}
    for call in calls:
        outcome = call["outcome"]
        if call["method"] in _OPENING and isinstance(outcome, dict) and "capabilities" in outcome:
            opening = outcome
    meta = opening.get("_meta")
    named = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    versions = opening.get("supportedVersions")
    newest = versions[0] if isinstance(versions, Sequence) and versions else None
    version = opening.get("protocolVersion") or newest
    return {
        "target": header.get("target"),
        "transport": header.get("transport"),
        "version": version,
        "era": era_name(version),
        "server": named or opening.get("serverInfo") or {},
        "capabilities": opening.get("capabilities") or {},
        "instructions": opening.get("instructions"),
        "recorded": header.get("recorded"),
    }


def recorded_lists(calls: Iterable[Described]) -> dict[str, list[Any]]:
    """Return the lists of a recorded server as they were last fetched, all pages of each."""
    found: dict[str, list[Any]] = {name: [] for _, name, _, _ in LISTS}
    by_method = {method: (name, key) for _, name, method, key in LISTS}
    for call in calls:
        name, key = by_method.get(call["method"], ("", ""))
        page = call["outcome"].get(key) if name and isinstance(call["outcome"], dict) else None
        if isinstance(page, list):
            params = call["params"]
            continues = isinstance(params, dict) and "cursor" in params
            # A new listing begins without a cursor.
            found[name] = [*found[name], *page] if continues else page
    return found

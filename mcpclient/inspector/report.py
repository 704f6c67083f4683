"""A page that is saved: one document with its data, which needs no program and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from ..protocol.faults.judge import LEVELS
from ..version import __version__
from .encoding import encode
from .journal import Row
from .recorded import recorded_lists
from .servers import Room, Watch
from .template import template

_CODE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


async def report(room: Room) -> str:
    """Return the document that shows all servers of a room as they are now, read only.

    Its data come from the journals, so secrets are replaced as in recordings.
    """
    room.observe()
    servers = {name: await _session(watch) for name, watch in room.watches.items()}
    items = [
        [item.kind, item.name, {**(item.value or {}), "status": "recorded"}]
        for item in room.board.since(0)
        if item.kind == "server"
    ]
    state = {
        **{"inspector": __version__, "allow": "look", "row": Row._fields, "version": 0},
        "items": items,
    }
    data = encode({"state": state, "servers": servers, "levels": LEVELS})
    data = data.replace("<", "\\u003c")  # so that no tag of a server's ends the element
    holder = f'<script type="application/json" id="saved">{data}</script>'
    document = template().replace(' nonce="{NONCE}"', "")
    document = document.replace("<noscript>", f"{holder}\n<noscript>", 1)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_policy(document)}">'
    return document.replace("<head>\n", f"<head>\n{policy}\n", 1)


def _policy(document: str) -> str:
    """Return a policy that allows the scripts and the style of the document, and nothing else."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, code in _CODE.findall(document):
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    return (
        f"default-src 'none'; script-src {' '.join(hashes['script'])}; "
        f"style-src {' '.join(hashes['style'])}; img-src blob:; media-src blob:; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


async def _session(watch: Watch) -> dict[str, Any]:
    journal, calls = watch.journal, watch.calls()
    lists = recorded_lists(calls)
    faults = await watch.faults(lists)  # first, as it adds faults to the rows
    numbers = range(journal.first, journal.next)
    lines = [_finite((journal.line(number) or "").rstrip("\n")) for number in numbers]
    return {
        "wire": {
            **{"first": journal.first, "next": journal.next, "counts": journal.counts},
            "spans": [each.as_json() for each in journal.spans.in_order()],
        },
        "rows": journal.rows(journal.first, len(lines)),
        "lines": lines,
        "lists": {**lists, "errors": {}},
        "faults": faults,
        "calls": {"calls": calls},
        "exchanges": {"exchanges": list(journal.exchanges.values())},
    }


def _finite(line: str) -> str:
    return encode(json.loads(line)) if "NaN" in line or "Infinity" in line else line

"""The document of the page: without its data, or saved with it, so that it needs no program.

Its sources are package data in ``page/``. They are read through the loader, as
`importlib.resources` fails in a zip archive with Python 3.9 on Windows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import asdict
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from ..protocol.faults.judge import LEVELS
from ..version import __version__
from .described import recorded_lists
from .journal import Row
from .servers import Room, Watch

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
            "spans": [asdict(each) for each in journal.spans.in_order()],
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


# ASCII, as UTF-8 has no lone surrogates.
_encode_finite = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encode(value: Any) -> str:
    """Return a value as JSON; NaN and the infinities as strings that the page knows."""
    try:
        return _encode_finite(value)
    except ValueError:
        return _encode_finite(_with_marks(value))


def _with_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_marks(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_marks(item) for item in value]
    is_finite = not isinstance(value, float) or math.isfinite(value)
    return value if is_finite else f"\ue000{json.dumps(value)}"


_IMPORT = {
    "js": re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE),
    "css": re.compile(r'^@import "\./(\w+)\.css";\n', re.MULTILINE),
}
_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
_TYPE = re.compile(r"/\*\* @type [^*]*\*/ ")
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) )", re.MULTILINE)


def _read(name: str) -> str:
    source = get_data(str(__package__), f"page/{name}")
    assert source is not None, "every loader of files and archives has data"
    return source.decode()


def bundle(name: str, kind: str) -> str:
    """Return a module of the page and those that it imports, each after the ones it imports.

    They share one scope, in which the linter keeps every top-level name unique.
    """
    bodies: dict[str, str] = {}

    def add(name: str) -> None:
        bodies[name] = ""
        source = _read(f"{name}.{kind}")
        for imported in _IMPORT[kind].findall(source):
            if imported not in bodies:
                add(imported)
        del bodies[name]  # it follows the ones it imports
        code = _COMMENT.sub("", _TYPE.sub("", _IMPORT[kind].sub("", source)))
        bodies[name] = _EXPORT.sub("", code).strip()

    add(name)
    return "\n".join(bodies.values())


@lru_cache(maxsize=1)
def template() -> str:
    """Return the document without its nonce."""
    # A copied program imports this package, so the page needs its current name.
    markup = _read("page.html").replace("{PACKAGE}", str(__package__).rpartition(".")[0])
    style, script = bundle("page", "css"), bundle("main", "js")
    return markup.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)

"""The schemas that the specification publishes, and the compact copy of them in the package.

    python -m conformance.published DIR

DIR is a checkout of https://github.com/modelcontextprotocol/modelcontextprotocol. The copy holds
all that servers may send: without descriptions, one base and a merge patch (RFC 7396) for each
later revision. As a part of the suite it is compared with a checkout in ``.peers/specification``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.results import FAILED, LEFT_OUT, PASSED, Row
from mcpclient.protocol.faults import published

SOURCE = "https://github.com/modelcontextprotocol/modelcontextprotocol"
CHECKOUT = peers.INSTALLED / "specification"
COPY = Path(published.__file__).with_name("published.json")

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

# Keywords that do not take part in a judgement.
_NOTES = {"title", "description", "default", "examples", "$comment"}
_NO_RULES: tuple[tuple[str, Any], ...] = (
    ("properties", {}),
    ("additionalProperties", {}),
    ("additionalProperties", True),
)
# Beyond the definitions that requests and notifications refer to.
_ROOTS = (
    *("Result", "InputRequiredResult", "CreateTaskResult", "CallToolResult"),
    *("Tool", "Resource", "ResourceTemplate", "Prompt"),
)


def provide() -> None:
    """Clone the specification, unless it is there or there is no network."""
    if not CHECKOUT.is_dir():
        command = ["git", "clone", "--quiet", "--depth=1", SOURCE, str(CHECKOUT)]
        subprocess.run(command, check=False, stderr=subprocess.DEVNULL)


def run() -> Iterator[Row]:
    """Compare the copy of each revision with the specification."""
    for revision in REVISIONS:
        path, name = CHECKOUT / "schema" / revision / "schema.json", f"schema of {revision}"
        if not path.is_file():
            yield Row("published", name, LEFT_OUT, f"there is no {path}")
            continue
        wanted, found = compact(json.loads(path.read_text("utf-8"))), published.revision(revision)
        parts = sorted(wanted.keys() | found.keys())
        wrong = [part for part in parts if wanted.get(part) != found.get(part)]
        detail = (
            f"differs in {', '.join(wrong)}" if wrong else f"{len(wanted['$defs'])} definitions"
        )
        outcome = FAILED if wrong else PASSED
        held = len(parts) - len(wrong)
        yield Row("published", name, outcome, detail, checks=len(parts), held=held)


def compact(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages that a server may send by a published schema.

    ``results``, ``requests`` and ``notifications``: the definition of each, by method.
    """
    definitions = document.get("$defs") or document["definitions"]
    stripped = {name: _stripped(each) for name, each in definitions.items()}
    results = {}
    for name, each in stripped.items():
        result = name.replace("Request", "Result")
        if name.endswith("Request") and (method := _method(each)):
            results[method] = result if result in stripped else "Result"
    sent = {
        kind: {_method(stripped[name]): name for name in _references(stripped.get(union, {}))}
        for kind, union in (("requests", "ServerRequest"), ("notifications", "ServerNotification"))
    }
    # What both sides may ask has a result as well.
    asked = set(_references(stripped["ClientRequest"]))
    results = {
        method: result
        for method, result in results.items()
        if any(_method(stripped[name]) == method for name in asked)
    }
    needed: dict[str, Any] = {}
    names = [*_ROOTS, *results.values(), *sent["requests"].values()]
    names += sent["notifications"].values()
    while names:
        name = names.pop()
        if name in stripped and name not in needed:
            needed[name] = stripped[name]
            names += _references(needed[name])
    return {"results": results, **sent, "$defs": dict(sorted(needed.items()))}


def _method(definition: Mapping[str, Any]) -> str:
    method = definition.get("properties", {}).get("method", {})
    return str(method.get("const", ""))


def _stripped(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_stripped(each) for each in schema]
    if isinstance(schema, str):
        return schema.replace("#/definitions/", "#/$defs/")
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name == "properties":
            # A member without rules takes part in no judgement.
            value = {key: each for key in value if (each := _stripped(value[key])) != {}}
        if name not in _NOTES and (name, value) not in _NO_RULES:
            kept[name] = value if name == "properties" else _stripped(value)
    return kept


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield reference.rpartition("/")[2]
    parts = schema.values() if isinstance(schema, dict) else schema
    for part in parts if isinstance(schema, (dict, list)) else ():
        yield from _references(part)


def difference(before: Any, after: Any) -> Any:
    """Return the merge patch that makes ``after`` of ``before``."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch = {name: None for name in before if name not in after}
    for name, value in after.items():
        if name not in before or before[name] != value:
            patch[name] = difference(before.get(name), value)
    return patch


def write(checkout: Path) -> None:
    """Write the copy: a line for each definition, so that a change can be read."""
    lines: list[str] = []
    before: dict[str, Any] = {}
    for revision in REVISIONS:
        path = checkout / "schema" / revision / "schema.json"
        after = compact(json.loads(path.read_text("utf-8")))
        patch = difference(before, after)
        parts = []
        for part, members in patch.items():
            entries = [f"{json.dumps(name)}: {_written(each)}" for name, each in members.items()]
            parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(entries) + "\n}")
        lines.append(f"{json.dumps(revision)}: {{\n" + ",\n".join(parts) + "\n}")
        before = after
    COPY.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    write(Path(sys.argv[1]))

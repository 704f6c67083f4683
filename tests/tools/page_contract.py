"""``python -m tests.tools.page_contract``: the types of the values on their way to the page.

They are made from the classes whose values are sent, for the type checker of `page_lint`.
"""

from __future__ import annotations

import re
from pathlib import Path

from mcpclient.inspector.board import Item
from mcpclient.inspector.journal import Row
from mcpclient.inspector.spans import Question, Span
from mcpclient.protocol.faults import Fault

CONTRACT = Path(__file__).parent / "page" / "contract.d.ts"

_NAMES = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}


def contract() -> str:
    """Return the declarations."""
    lines = ["// Written by python -m tests.tools.page_contract."]
    # Sent as lists; of an item without its version.
    for name, members in (("Fault", _members(Fault)), ("Item", _members(Item)[:3])):
        lines.append(f"type {name} = [{', '.join(members)}];")
    # Objects: the page makes one of each row, by the names of its members.
    for kind in (Row, Question, Span):
        name, members = kind.__name__, _members(kind)
        lines += [f"type {name} = {{", *[f"  {each};" for each in members], "};"]
    return "\n".join(lines) + "\n"


def _members(kind: type) -> list[str]:
    hints = kind.__annotations__.items()
    return [
        f"{name}: {_written(str(getattr(hint, '__forward_arg__', hint)))}" for name, hint in hints
    ]


def _written(hint: str) -> str:
    """Return a type as TypeScript has it."""
    if " | " in hint:
        return " | ".join(map(_written, hint.split(" | ")))
    item = re.fullmatch(r"(?:list|Sequence)\[(.*)\]", hint)
    if item is not None:
        return f"{_written(item[1])}[]"
    return "Record<string, unknown>" if hint.startswith("dict[") else _NAMES.get(hint, hint)


if __name__ == "__main__":
    CONTRACT.write_text(contract(), "utf-8")

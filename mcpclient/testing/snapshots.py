"""Snapshots of a server's tools, so that a review shows each change of them."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable

from ..net.files import open_regular, write_file
from ..protocol.types import Tool

_MAX_SIZE = 64 * 1024 * 1024


def tools_text(tools: Iterable[Tool]) -> str:
    """Return the definitions of tools as text: JSON, laid out for reading, sorted by name."""
    listed = sorted((tool.raw for tool in tools), key=lambda raw: str(raw.get("name")))
    return json.dumps(listed, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def check_tools(
    tools: Iterable[Tool], path: str | os.PathLike[str], *, update: bool = False
) -> None:
    """Raise `AssertionError` with a diff if the tools are not those of the file.

    ``tools``: the result of ``list_tools``. The file is written if it does not exist, or with
    ``update``. Names, descriptions and schemas of tools are a server's interface for models, so
    each change is shown line by line, as ``diff -u`` does.
    """
    path = os.fspath(path)
    now = tools_text(tools)
    if update or not os.path.exists(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write_file(path, now.encode())
        return
    with open(open_regular(path, limit=_MAX_SIZE), encoding="utf-8") as file:
        before = file.read()
    if before != now:
        said = "If that is right, write the file again with update=True or --mcp-update."
        changes = difflib.unified_diff(
            before.split("\n"), now.split("\n"), path, "now", lineterm=""
        )
        raise AssertionError("\n".join(["the tools have changed:", *changes, said]))

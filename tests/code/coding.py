"""A toolbox in code mode, and the runs of a model's code in it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import mcpclient
from tests.adapters.models import call, response

PREFIX = "Tool error: "


async def run_python(box: mcpclient.Toolbox, code: str, **options: Any) -> str:
    """Run code as a model does, and return its result."""
    arguments = json.dumps({"code": code})
    (message,) = await box.run(response(call("run_python", arguments)), **options)
    output: str = message["output"]
    return output


def children() -> set[str]:
    """The processes that this one has started and that are still there."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended
            found.update((task / "children").read_text().split())
    return found

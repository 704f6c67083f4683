"""A toolbox in code mode, and the runs of a model's code in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from tests.adapters.models import call, response
from tests.net.process_helpers import wait_until

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


@contextmanager
def temporary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder for temporary files; afterwards nothing is left in it, and no process."""
    before = children()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(folder))
    yield
    # Whoever floods the pipe is killed at once, and then the keeper of the sandbox tidies up.
    wait_until(lambda: children() <= before and not [*folder.iterdir()], "nothing is left")

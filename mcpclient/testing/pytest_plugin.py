"""Fixtures for pytest. In ``conftest.py``: ``pytest_plugins = ["mcpclient.testing.pytest_plugin"]``

``mcp_cassette``: a `Cassette` of the test's own, in the folder ``cassettes`` beside the test file.
``mcp_check_tools``: `check_tools` with a file of the test's own, in the folder ``snapshots`` there.

On the command line, ``--mcp-cassettes=once|none|all|new`` sets the mode of cassettes (``none`` if
the environment has ``CI=true``, otherwise ``once``), and ``--mcp-update`` rewrites snapshots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Callable, get_args

import pytest

from ..protocol.types import Tool
from .cassettes import Cassette, Mode, check_tools

_failed = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("mcpclient")
    in_ci = os.environ.get("CI") == "true"
    group.addoption(
        "--mcp-cassettes",
        choices=get_args(Mode),
        default="none" if in_ci else "once",
        help="record MCP servers if there is no cassette, never, always, or only new requests",
    )
    group.addoption("--mcp-update", action="store_true", help="rewrite the snapshots of tools")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember whether the test has failed, for the end of its cassette."""
    report = yield
    if call.when == "call":
        item.stash[_failed] = call.excinfo is not None
    return report


@pytest.fixture
def mcp_cassette(request: pytest.FixtureRequest) -> Iterator[Cassette]:
    """Return the cassette of this test. Unplayed calls fail it, unless it has failed anyway."""
    mode: Any = request.config.getoption("--mcp-cassettes")
    made = Cassette(_file_of(request, "cassettes", "jsonl"), mode)
    yield made
    made.close(failed=request.node.stash.get(_failed, True))


@pytest.fixture
def mcp_check_tools(request: pytest.FixtureRequest) -> Callable[[Iterable[Tool]], None]:
    """Return `check_tools` for the file of this test."""
    path = _file_of(request, "snapshots", "json")
    update = bool(request.config.getoption("--mcp-update"))
    return lambda tools: check_tools(tools, path, update=update)


def _file_of(request: pytest.FixtureRequest, folder: str, ending: str) -> Path:
    """Return a file for a test: by module and name, which may have parameters."""
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    return request.path.parent / folder / f"{request.path.stem}.{name}.{ending}"

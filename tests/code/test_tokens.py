"""The table of tokens in the guide is the one that is measured. F-CODE-1."""

from __future__ import annotations

import asyncio
import re

import pytest

from conformance import code_tokens, peers
from mcpclient.cli.help import chapter

pytestmark = [pytest.mark.slow, pytest.mark.needs_landlock]


def test_the_guide_tells_what_ten_tasks_cost() -> None:
    """F-CODE-1: within 10 %."""
    missing = [name for name in code_tokens.SERVERS if peers.command(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed: python -m conformance.peers install")
    told, found = chapter("code"), code_tokens.table(asyncio.run(code_tokens.measured()))
    for line in found[2:]:
        name = line.split("|")[1].strip()
        (row,) = [each for each in told.splitlines() if each.startswith(f"| {name} |")]
        numbers = zip(_numbers(row), _numbers(line))
        assert all(abs(one - other) <= max(other // 10, 200) for one, other in numbers), line


def _numbers(row: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?= \|)", row)]

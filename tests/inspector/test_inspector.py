"""F-SHOW-10: opening and closing an inspector, over whatever can be inspected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcpclient import Client, Manager, Recording, UsageError
from mcpclient.inspector.inspector import inspect, source_of
from mcpclient.inspector.servers import ClientSource, ManagerSource, Source


async def test_without_with() -> None:
    inspector = await inspect(Client("http://127.0.0.1:1/mcp"), token="a-very-long-token")
    assert inspector.url.endswith("/#t=a-very-long-token")
    await inspector.close()
    await inspector.close()


def test_what_can_be_inspected(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"transcript": 1, "transport": "stdio", "target": "x"}\n')
    assert isinstance(source_of(Client("x")), ClientSource)
    assert isinstance(source_of(Manager({})), ManagerSource)
    assert type(source_of(Recording(path))) is Source
    assert len(source_of([Recording(path), Recording(path)]).states()) == 2
    for other in ("https://h/mcp", [], [Client("x")], None):
        with pytest.raises(UsageError, match="can be inspected"):
            source_of(other)


@pytest.mark.parametrize(
    "options",
    [
        {"allow": "everything"},
        {"token": "short"},
        {"token": "with spaces and more of it"},
        {"token": "ümlauts-are-not-for-urls"},
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        inspect(Client("x"), **options)

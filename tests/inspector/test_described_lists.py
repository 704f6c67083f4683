"""F-SHOW-10: the lists as the server sent them, odd entries and failures included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcpclient import Client, PeerError
from mcpclient.inspector.described import fetch_lists, recorded_lists
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.inspector.recorded import recording
from tests.inspector.showcase import MALFORMED, Showcase
from tests.support.virtual_time import run

EVERYTHING: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}


def fetched(answers: dict[str, Any], capabilities: dict[str, Any] = EVERYTHING) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        server = ScriptedServer(answers, version=HANDSHAKE, capabilities=capabilities)
        async with server.client() as client:
            return await fetch_lists(client)

    return run(main())


@pytest.mark.virtual_time
async def test_all_pages_of_all_lists_and_what_is_odd() -> None:
    tools = [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(2500)]
    server = Showcase(tools=tools + MALFORMED)
    async with Client(server.transport, protocol_version="2025-11-25") as client:
        lists = await fetch_lists(client, fresh=True)
        assert client._listed._schemas == {}
    assert len(lists["tools"]) == 2504
    assert [len(lists[name]) for name in ("resources", "templates", "prompts")] == [2, 1, 1]
    assert lists["errors"] == {}
    assert lists["tools"][2500:] == MALFORMED


def test_what_is_not_offered_is_not_asked_for() -> None:
    found = fetched({}, {})
    assert found["tools"] == found["prompts"] == []
    assert found["errors"] == {}


def test_a_list_that_fails_is_empty_and_says_why() -> None:
    def refuse(params: Any) -> None:
        raise PeerError(-32000, "no tools today")

    pages = iter(range(5000))
    found = fetched(
        {
            "tools/list": refuse,
            "resources/list": {"resources": {}},
            "resources/templates/list": {"resourceTemplates": [], "nextCursor": "same"},
            "prompts/list": lambda _: {"prompts": [], "nextCursor": str(next(pages))},
        }
    )
    texts = {name: error["text"] for name, error in found["errors"].items()}
    assert "no tools today" in texts["tools"]
    assert "no list 'resources'" in texts["resources"]
    assert "the cursor 'same' for resourceTemplates twice" in texts["templates"]
    assert "did not end" in texts["prompts"]


def test_a_list_is_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-9: as for the program's own requests."""
    monkeypatch.setattr("mcpclient.client.connection.connection.MAX_WEIGHT", 3_000_000)
    asked: list[Any] = []

    def page(params: Any) -> dict[str, Any]:
        asked.append(params)
        return {"tools": ["x" * 1_000_000], "nextCursor": str(len(asked))}

    found = fetched({"tools/list": page}, {"tools": {}})
    assert "exceeds 2 MiB" in found["errors"]["tools"]["text"]
    assert (found["tools"], len(asked)) == ([], 3)


def test_the_lists_of_a_recorded_server(tmp_path: Path) -> None:
    """F-SHOW-10: all pages, as they were asked for last."""
    made = recording(
        tmp_path / "r.jsonl",
        ("tools/list", {}, {"tools": [{"name": "stale"}]}),
        ("tools/list", {}, {"tools": [{"name": "a"}], "nextCursor": "2"}),
        ("tools/list", {"cursor": "2"}, {"tools": [{"name": "b"}]}),
        ("resources/list", {}, {"resources": "odd"}),
    )
    lists = recorded_lists(made.conversation)
    assert [tool["name"] for tool in lists["tools"]] == ["a", "b"]
    assert lists["resources"] == lists["prompts"] == []

"""F-SHOW-10: the board: what changed, what the page asked for, and what servers ask."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Callable

import pytest

from mcpclient import Client, UsageError
from mcpclient.client.requests import connection_of
from mcpclient.inspector import board as module
from mcpclient.inspector.board import Board, Calls, PageRequest, Questions, with_limited_depth
from mcpclient.protocol.elicitation import ElicitationRequest
from mcpclient.protocol.sampling import SamplingRequest
from mcpclient.protocol.types import CallToolResult
from tests.client.scripted_server import HANDSHAKE
from tests.client.task_servers import DONE
from tests.inspector.scenes import TaskServer, until
from tests.inspector.showcase import Showcase
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time


def test_it_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_ITEMS", 10)
    board = Board()
    board.put("server", "a", {})
    for number in range(60):
        board.put("call", str(number), {"number": number})
    items = board.since(0)
    assert len(items) == 10
    assert items[0].kind == "server"
    assert items[1].name == "51"


def nested(levels: int, inside: Any) -> Any:
    value = inside
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@each_row("levels", [4, 7, 100_000])
def test_what_is_too_deep_is_a_text(levels: int) -> None:
    value: Any = [1, {"deep": nested(levels, "end"), "b": [2]}]
    shown = with_limited_depth(value, 5)
    text = json.dumps(shown)
    assert "nested too deeply" in text
    assert "end" not in text
    assert (shown[0], shown[1]["b"]) == (1, [2])
    assert with_limited_depth(shown, 5) is shown
    while isinstance(value, (list, dict)) and value:  # or it would be freed recursively
        value = value.pop() if isinstance(value, list) else value.popitem()[1]


async def result_of(calls: Calls, name: str) -> dict[str, Any]:
    """Wait until a call is over, and return its result."""
    await until(lambda: calls.result(name) is not None)
    return calls.result(name) or {}


class Scene:
    """A showcase, a client of it, and calls."""

    def __init__(self) -> None:
        self.board = Board()
        self.calls = Calls(self.board)
        self.showcase = Showcase()
        self.client = Client(self.showcase.transport, protocol_version="2025-11-25")

    async def outcome(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        name = self.calls.start(self.client, PageRequest("s", method, params))
        outcome = await result_of(self.calls, name)
        return self.shown(name)["state"], outcome

    def shown(self, name: str) -> dict[str, Any]:
        found = [
            item.value for item in self.board.since(0) if (item.kind, item.name) == ("call", name)
        ]
        return (found[-1] if found else None) or {}


@asynccontextmanager
async def play() -> AsyncIterator[Scene]:
    scene = Scene()
    async with scene.client:
        yield scene
        await scene.calls.close()


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/call", {"name": "fail"}, "failed"),
        ("tools/call", {"name": "refuse"}, "failed"),
        ("tools/call", {"name": "x", "arguments": [1]}, "failed"),
        ("resources/read", {"uri": "file:///notes.txt"}, "done"),
        ("resources/subscribe", {"uri": "file:///notes.txt"}, "done"),
        ("resources/unsubscribe", {"uri": "file:///notes.txt"}, "done"),
        ("ping", {}, "done"),
        ("logging/setLevel", {"level": "debug"}, "done"),
        ("no/such", {}, "failed"),
    ],
)
async def test_every_method(method: str, params: dict[str, Any], expected: str) -> None:
    async with play() as scene:
        state, outcome = await scene.outcome(method, params)
        assert state == expected
        assert ("error" in outcome) == (state == "failed" and params.get("name") != "fail")


class Stub:
    """A client that reports progress too late, and takes any request."""

    _connection = connection_of(Client("x"))

    def __init__(self) -> None:
        self.fresh: object = None
        self.late: Any = None

    async def call_tool(self, *arguments: Any, on_progress: Any, **options: Any) -> Any:
        self.late = on_progress
        return CallToolResult({"content": []})

    async def request(self, *arguments: Any, fresh: bool = False, **options: Any) -> Any:
        self.fresh = fresh
        return {}


async def test_what_the_page_asks_for_is_what_the_server_says_now() -> None:
    """F-SHOW-10: not its earlier answer."""
    async with play() as scene:
        stub: Any = Stub()
        scene.client = stub
        await scene.outcome("tools/list", {})
        assert stub.fresh is True


async def test_a_mistake_within_is_shown_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-10: the page would otherwise show for ever that the request runs."""
    monkeypatch.setattr(module, "_perform", lambda *args: 1 // 0)
    async with play() as scene:
        state, outcome = await scene.outcome("ping", {})
        assert (state, outcome["error"]["type"]) == ("failed", "ZeroDivisionError")


async def test_results_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_RESULTS", 2)

    async with play() as scene:
        for _ in range(3):
            await scene.outcome("ping", {})
        assert [scene.calls.result(name) is None for name in "123"] == [True, False, False]


@each_row(
    "request_",
    [
        {},
        {"server": "s"},
        {"server": "s", "method": ""},
        {"server": "s", "method": "m", "params": [1]},
        {"server": "s", "method": "m", "timeout": "1"},
        {"server": "s", "method": "m", "timeout": True},
    ],
)
def test_what_is_no_request(request_: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PageRequest.of(request_)


async def test_a_call_as_a_task_shows_its_states_and_is_cancelled_with_it() -> None:
    """F-SHOW-14: on the server, too."""
    server = TaskServer()
    board = Board()
    calls = Calls(board)
    asked = PageRequest("s", "tools/call", {"name": "research", "task": {}})
    async with server.client(protocol_version=HANDSHAKE) as client:
        name = calls.start(client, asked)
        shown: Any = {}
        while "task" not in shown:
            await asyncio.sleep(0)
            shown = {item.name: item.value for item in board.since(0)}.get(name) or {}
        assert (shown["state"], shown["task"]["status"]) == ("running", "working")
        calls.cancel(name)
        await result_of(calls, name)
        assert server.status == "cancelled"
        server.status = "completed"
        again = calls.start(client, asked)
        assert (await result_of(calls, again))["result"]["content"] == DONE["content"]


async def asked(questions: Questions, asking: Awaitable[Any]) -> tuple[Any, asyncio.Future[Any]]:
    """Ask, and return the question as it is shown, and its answer when that has come."""
    answer = asyncio.ensure_future(asking)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    (item,) = questions.board.since(0)
    return item, answer


FORM = ElicitationRequest({"message": "m", "requestedSchema": {"type": "object"}}, "s")
VISIT = ElicitationRequest({"mode": "url", "message": "m", "url": "http://a@b.example/"}, "s")
SAMPLE = SamplingRequest({"messages": [], "maxTokens": 5}, "s")
QUESTIONS: dict[str, tuple[Callable[[Questions], Any], dict[str, Any], Any]] = {
    "form": (
        lambda questions: questions.elicitation.form(FORM),  # type: ignore[misc]
        {"kind": "form", "server": "s", "message": "m", "schema": {"type": "object"}},
        {"action": "decline"},
    ),
    "visit": (
        lambda questions: questions.elicitation.url(VISIT),  # type: ignore[misc]
        {"url": "http://a@b.example/", "host": "b.example", "warnings": VISIT.url_warnings},
        None,
    ),
    "sampling": (
        lambda questions: questions.sampling.answer(SAMPLE),
        {"kind": "sampling", "request": {"messages": [], "maxTokens": 5}},
        {"content": "42"},
    ),
}


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_a_question_is_shown_until_it_is_answered_once(kind: str) -> None:
    ask, shown, answer = QUESTIONS[kind]
    questions = Questions(Board())
    item, answered = await asked(questions, ask(questions))
    assert {**item.value, **shown} == item.value
    questions.answer(item.name, answer)
    with pytest.raises(UsageError, match="answered or withdrawn"):
        questions.answer(item.name, answer)
    assert await answered == answer
    assert questions.board.since(0)[-1].value is None
    assert len(VISIT.url_warnings) == 2


async def test_an_answer_that_does_not_fit_its_form_leaves_the_question_open() -> None:
    """F-SHOW-10, F-API-10: the page says which field, and it is answered again."""
    properties = {"mail": {"type": "string", "format": "email"}}
    schema = {"type": "object", "properties": properties, "required": ["mail"]}
    request = ElicitationRequest({"message": "m", "requestedSchema": schema}, "s")

    questions = Questions(Board())
    item, answered = await asked(questions, questions.elicitation.form(request))  # type: ignore[misc]
    for content, reason in ({"mail": "x"}, "/mail (format)"), ({}, "not filled in: mail"):
        with pytest.raises(UsageError, match=re.escape(reason)):
            questions.answer(item.name, {"action": "accept", "content": content})
    with pytest.raises(UsageError, match="an action there is not"):
        questions.answer(item.name, {"action": "perhaps"})
    questions.answer(item.name, {"action": "accept", "content": {"mail": "a@b.example"}})
    assert (await answered)["content"] == {"mail": "a@b.example"}


async def test_a_question_nobody_waits_for_is_taken_away() -> None:
    questions = Questions(Board())
    asking = asyncio.ensure_future(questions.ask("form", "s", {}))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert questions.board.since(0)[-1].value is None
    with pytest.raises(UsageError, match="answered or withdrawn"):
        questions.answer("1", {})

"""F-SHOW-10: what the server asks is put on the board, and answered from there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from typing import Any, Callable

import pytest

from mcpclient.auth.effects import Authorize
from mcpclient.errors import UsageError
from mcpclient.inspector.board import Board, Questions
from mcpclient.net.login.logins import BrowserLogin
from mcpclient.net.login.storage import MemoryStore
from mcpclient.protocol.elicitation import ElicitationRequest
from mcpclient.protocol.sampling import SamplingRequest
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def answered(ask: Callable[[Questions], Awaitable[Any]], answer: Any) -> tuple[Any, Any]:
    """Ask, answer, and return the question as it was shown, and the answer as it came."""

    async def main() -> tuple[Any, Any]:
        questions = Questions(Board())
        asking = asyncio.ensure_future(ask(questions))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (item,) = questions.board.since(0)
        questions.answer(item.name, answer)
        with pytest.raises(UsageError):
            questions.answer(item.name, answer)
        given = await asking
        assert questions.board.since(0)[-1].value is None
        return item.value, given

    return run(main())


def test_a_form() -> None:
    request = ElicitationRequest({"message": "m", "requestedSchema": {"type": "object"}}, "s")
    shown, given = answered(lambda each: each.elicitation.form(request), {"action": "decline"})  # type: ignore[misc]
    assert shown == {"kind": "form", "server": "s", "message": "m", "schema": {"type": "object"}}
    assert given == {"action": "decline"}


def test_an_answer_that_does_not_fit_its_form_leaves_the_question_open() -> None:
    """F-SHOW-10, F-API-10: the page says which field, and it is answered again."""
    properties = {"mail": {"type": "string", "format": "email"}}
    schema = {"type": "object", "properties": properties, "required": ["mail"]}
    request = ElicitationRequest({"message": "m", "requestedSchema": schema}, "s")

    async def main() -> Any:
        questions = Questions(Board())
        asking = asyncio.ensure_future(questions.elicitation.form(request))  # type: ignore[misc]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (item,) = questions.board.since(0)
        for content, reason in ({"mail": "x"}, "/mail (format)"), ({}, "not filled in: mail"):
            with pytest.raises(UsageError, match=re.escape(reason)):
                questions.answer(item.name, {"action": "accept", "content": content})
        with pytest.raises(UsageError, match="an action there is not"):
            questions.answer(item.name, {"action": "perhaps"})
        questions.answer(item.name, {"action": "accept", "content": {"mail": "a@b.example"}})
        return await asking

    assert run(main())["content"] == {"mail": "a@b.example"}


def test_a_visit_shows_host_and_warnings() -> None:
    request = ElicitationRequest({"mode": "url", "message": "m", "url": "http://a@b.example/"}, "s")
    shown, _ = answered(lambda each: each.elicitation.url(request), None)  # type: ignore[misc]
    assert (shown["url"], shown["host"]) == ("http://a@b.example/", "b.example")
    assert len(shown["warnings"]) == 2


def test_a_language_model() -> None:
    request = SamplingRequest({"messages": [], "maxTokens": 5}, "s")
    shown, given = answered(lambda each: each.sampling.answer(request), {"content": "42"})
    assert shown["request"] == {"messages": [], "maxTokens": 5}
    assert given == {"content": "42"}


async def test_a_question_nobody_waits_for_is_taken_away() -> None:
    questions = Questions(Board())
    asking = asyncio.ensure_future(questions.ask("form", "s", {}))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert questions.board.since(0)[-1].value is None
    with pytest.raises(UsageError, match="answered or withdrawn"):
        questions.answer("1", {})


async def test_the_address_of_a_login_is_shown_until_the_login_ends() -> None:
    """F-SHOW-10, F-AUTH-12: whether a connection waits for it, or a call that needs more rights."""
    questions = Questions(Board())

    async def log_in(server: str, path: str, over: asyncio.Event) -> None:
        assert await questions.show_login(server, f"https://id.example/{path}?x=1")
        await over.wait()

    def shown() -> dict[str, Any]:
        return {item.name: item.value for item in questions.board.since(0) if item.value}

    ends = [asyncio.Event() for _ in range(3)]
    logins = [
        asyncio.ensure_future(log_in(server, path, over))
        for server, path, over in zip("abb", ("one", "two", "three"), ends)
    ]
    await asyncio.sleep(0)
    assert {item.kind for item in questions.board.since(0)} == {"login"}
    assert shown() == {
        "a": {"url": "https://id.example/one?x=1", "host": "id.example"},
        "b": {"url": "https://id.example/three?x=1", "host": "id.example"},
    }
    ends[1].set()  # another login to the same server has begun
    await logins[1]
    await asyncio.sleep(0)
    assert set(shown()) == {"a", "b"}
    ends[2].set()
    await logins[2]
    await asyncio.sleep(0)
    assert set(shown()) == {"a"}
    logins[0].cancel()
    await asyncio.wait(logins)
    await asyncio.sleep(0)
    assert not shown()


async def test_a_browser_login_shows_its_address_until_the_user_comes_back() -> None:
    """F-SHOW-10, F-AUTH-12: though a task that ends at once awaits the showing."""

    async def log_in(provider: BrowserLogin, request: Authorize) -> None:
        await provider.authorize(request)
        await asyncio.get_running_loop().create_future()

    questions = Questions(Board())

    def show_login(url: str) -> Awaitable[bool]:
        return questions.show_login("server", url)

    provider = BrowserLogin(MemoryStore(), open_browser=show_login)
    request = Authorize("https://id.example/x", "state", "https://app.example/callback")
    task = asyncio.ensure_future(log_in(provider, request))
    for _ in range(10):
        await asyncio.sleep(0)
    (item,) = questions.board.since(0)
    assert item.value == {"url": "https://id.example/x", "host": "id.example"}
    task.cancel()
    await asyncio.wait({task})
    await asyncio.sleep(0)
    (item,) = questions.board.since(0)
    assert item.value is None

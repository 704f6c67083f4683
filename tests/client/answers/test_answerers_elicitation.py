"""Elicitation by form and by URL, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import Elicitation, ElicitationRequest, accept_defaults
from mcpclient.client.answers.answerers import ElicitationAnswerer, ElicitationOption
from mcpclient.errors import (
    HandlerFailed,
    PeerError,
    ProtocolViolation,
    UrlElicitationRequired,
    UsageError,
)
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time

PROPERTIES: dict[str, Any] = {
    "name": {"type": "string", "minLength": 2, "maxLength": 10},
    "mail": {"type": "string", "format": "email"},
    "page": {"type": "string", "format": "uri"},
    "born": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "score": {"type": "number", "default": 9.5},
    "ok": {"type": "boolean", "default": False},
    "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
    "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "hero": {"type": "string", "oneOf": [{"const": "h1", "title": "One"}]},
    "fish": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1},
    "tags": {"type": "array", "items": {"anyOf": [{"const": "t1", "title": "T"}]}, "minItems": 1},
}


def form(*required: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or PROPERTIES, "required": list(required)}
    return {"message": "Please", "requestedSchema": schema}


VISIT = {"mode": "url", "message": "Go", "url": "https://example.com/x", "elicitationId": "e1"}


def answer(option: ElicitationOption, params: Mapping[str, Any]) -> dict[str, Any]:
    return asyncio.run(ElicitationAnswerer(option).answer(params, "server"))


@each_row(
    ("field", "good", "bad"),
    [
        ("name", "Ada", "A"),
        ("name", "Ada", "A" * 11),
        ("name", "Ada", 7),
        ("mail", "a@b.example", "nobody"),
        ("page", "https://a.example/", "nowhere"),
        ("born", "1815-12-10", "1815-13-10"),
        ("at", "2024-01-01T10:00:00Z", "now"),
        ("age", 36, -1),
        ("age", 36, 151),
        ("age", 36, 36.5),
        ("score", 1, "high"),
        ("ok", True, 1),
        ("color", "green", "blue"),
        ("old", "b", "B"),
        ("hero", "h1", "One"),
        ("fish", ["x"], ["z"]),
        ("fish", [], ["x", "y"]),
        ("tags", ["t1"], []),
        ("tags", ["t1"], ["T"]),
    ],
)
def test_values_are_checked(field: str, good: object, bad: object) -> None:
    """F-API-10: formats, ranges, choices with and without titles; what does not fit stays here."""
    assert answer(lambda request: {field: good}, form())["content"][field] == good
    with pytest.raises(HandlerFailed, match=f"does not fit the form: /{field}") as caught:
        answer(lambda request: {field: bad}, form())
    assert caught.value.code == -32603
    assert repr(bad) not in caught.value.reason.partition("(")[0]


def test_what_cannot_be_checked_is_not_sent() -> None:
    """F-API-10, F-API-17: a form may be made so that checking an answer takes for ever."""
    endless = {"type": "string", "pattern": "(x?){400}y"}
    with pytest.raises(HandlerFailed, match="the answer was not checked: it takes ") as caught:
        answer(lambda request: {"name": "xz" * 5_000_000}, form(name=endless))
    assert caught.value.__cause__ is None


@each_row(
    ("returned", "reason"),
    [
        ({}, "not filled in: name, age"),
        ({"name": "Ada", "age": 1, "x": {}}, "x must be a string, a number"),
        ({"name": "Ada", "age": 1, "x": b""}, "x must be a string, a number"),
        ("Ada", "returned str"),
        ({"action": "perhaps"}, "an action there is not"),
        ({"action": "accept", "content": [1]}, "content that is not a mapping"),
    ],
)
def test_answers_of_the_wrong_shape(returned: object, reason: str) -> None:
    """F-API-10: never sent."""
    with pytest.raises(HandlerFailed, match=reason):
        answer(lambda request: returned, form("name", "age"))


@each_row(
    ("returned", "action"),
    [
        *((False, "decline"), (None, "cancel")),
        ({"action": "decline", "content": {"name": "Ada"}}, "decline"),
    ],
)
def test_refusals_carry_nothing(returned: object, action: str) -> None:
    """F-API-10: also where a handler returns content beside a refusal."""
    assert answer(lambda request: returned, form("name")) == {"action": action}


def test_a_form_that_nothing_fits_is_not_shown() -> None:
    """F-API-10: a schema that cannot be used is the server's fault; the user fills in nothing."""
    asked: list[ElicitationRequest] = []
    with pytest.raises(ProtocolViolation, match="JSON Schema cannot be used"):
        answer(asked.append, form(name={"type": "nonsense"}))
    assert asked == []


@each_row("option", [Elicitation(), Elicitation(on_complete=print), "ask", 7])
def test_options_that_are_none(option: Any) -> None:
    """F-API-10"""
    with pytest.raises(UsageError, match=r"elicitation|Elicitation"):
        ElicitationAnswerer(option)


async def test_visits_that_are_over() -> None:
    """F-API-10: announced once, for visits that were agreed to."""
    server = ScriptedServer(version=HANDSHAKE)
    completed: list[str] = []

    async def note(elicitation_id: str) -> None:
        completed.append(elicitation_id)

    agrees = Elicitation(url=lambda request: request.message == "Go", on_complete=note)
    async with server.client(elicitation=agrees):
        await server.ask(1, "elicitation/create", **VISIT)
        declined = {**VISIT, "message": "No", "elicitationId": "e2"}
        await server.ask(2, "elicitation/create", **declined)
        server.notify("vendor/elicitation", elicitationId="e1")
        for elicitation_id in ("e2", "unknown", None, ["e1"]):
            server.notify("notifications/elicitation/complete", elicitationId=elicitation_id)
        await turns(30)
        assert completed == []
        for elicitation_id in ("e1", "e1"):
            server.notify("notifications/elicitation/complete", elicitationId=elicitation_id)
        await turns(30)
        assert completed == ["e1"]


async def test_whoever_still_works_on_a_visit_that_is_over_is_cancelled_at_the_end() -> None:
    """F-API-10, F-LIFE-6: nothing is left running."""
    server = ScriptedServer(version=HANDSHAKE)
    ends: list[str] = []

    async def never_return(elicitation_id: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append(elicitation_id)

    agrees = Elicitation(url=lambda request: True, on_complete=never_return)
    async with server.client(elicitation=agrees):
        await server.ask(1, "elicitation/create", **VISIT)
        server.notify("notifications/elicitation/complete", elicitationId="e1")
        await turns(30)
        assert ends == []
    assert ends == ["e1"]


@pytest.mark.real_time
async def test_visits_are_not_remembered_forever() -> None:
    """F-API-10"""
    completed: list[str] = []
    agrees = Elicitation(url=lambda request: True, on_complete=completed.append)
    answerer = ElicitationAnswerer(agrees)
    names = [str(number) for number in range(1001)]

    async def complete(*, are_closed: bool) -> None:
        for name in names:
            await answerer.answer({**VISIT, "elicitationId": name}, "")
        if are_closed:
            answerer.closed()
        for name in names:
            answerer.notified("notifications/elicitation/complete", {"elicitationId": name})
        await turns(30)

    await complete(are_closed=True)
    assert completed == []
    await complete(are_closed=False)
    assert completed == names[1:]


def needing_a_visit(params: Mapping[str, Any]) -> dict[str, Any]:
    raise PeerError(-32042, "Visit first", {"elicitations": [VISIT]})


async def test_a_visit_takes_no_call_s_time() -> None:
    """F-API-7, F-API-10: whoever goes there is human."""
    server = ScriptedServer({"tools/call": needing_a_visit}, version=HANDSHAKE)

    async def visit(request: ElicitationRequest) -> bool:
        await asyncio.sleep(3600)
        server.answers["tools/call"] = {"content": [{"type": "text", "text": "done"}]}
        return True

    async with server.client(elicitation=Elicitation(url=visit)) as client:
        assert (await client.call_tool("t", timeout=1, max_timeout=2)).text == "done"


@pytest.mark.parametrize(
    "elicitation", [None, accept_defaults, Elicitation(url=lambda request: False)]
)
async def test_a_call_that_needs_a_visit_nobody_makes(elicitation: Any) -> None:
    """F-API-10: the error says where to go."""
    server = ScriptedServer({"tools/call": needing_a_visit}, version=HANDSHAKE)
    async with server.client(elicitation=elicitation) as client:
        with pytest.raises(UrlElicitationRequired) as caught:
            await client.call_tool("t")
        assert caught.value.elicitations == (VISIT,)
        assert caught.value.code == -32042
        assert len(server.sent("tools/call")) == 1


@pytest.mark.parametrize(
    "data", [None, {}, {"elicitations": [1]}, {"elicitations": [{"url": "x"}]}]
)
async def test_visits_that_cannot_be_made(data: Any) -> None:
    """F-API-10"""

    def refuse(params: Mapping[str, Any]) -> dict[str, Any]:
        raise PeerError(-32042, "Visit first", data)

    server = ScriptedServer({"tools/call": refuse}, version=HANDSHAKE)
    async with server.client(elicitation=Elicitation(url=lambda request: True)) as client:
        with pytest.raises(UrlElicitationRequired):
            await client.call_tool("t")

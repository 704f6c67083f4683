"""Elicitation by form and by URL, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import Client, Elicitation, ElicitationRequest, accept_defaults
from mcpclient.client.answers.answerers import ElicitationAnswerer, ElicitationOption, form_problem
from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.errors import (
    HandlerFailed,
    PeerError,
    ProtocolViolation,
    UrlElicitationRequired,
    UsageError,
)
from mcpclient.jsonrpc import messages
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer, turns
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

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
DEFAULTS = {"score": 9.5, "ok": False, "color": "red"}


def form(*required: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or PROPERTIES, "required": list(required)}
    return {"message": "Please", "requestedSchema": schema}


VISIT = {"mode": "url", "message": "Go", "url": "https://example.com/x", "elicitationId": "e1"}


def answer(option: ElicitationOption, params: Mapping[str, Any]) -> dict[str, Any]:
    return asyncio.run(ElicitationAnswerer(option).answer(params, "server"))


def test_what_the_user_entered() -> None:
    """F-API-10: a dict of fields accepts; what is missing or None gets its default (SEP-1034)."""
    requests: list[ElicitationRequest] = []

    async def ask(request: ElicitationRequest) -> dict[str, Any]:
        requests.append(request)
        return {"name": "Ada", "age": None, "ok": True, "color": None}

    content = {"name": "Ada", **DEFAULTS, "ok": True}
    assert answer(ask, form("name")) == {"action": "accept", "content": content}
    assert (requests[0].server, requests[0].message) == ("server", "Please")


@pytest.mark.parametrize("option", [accept_defaults, lambda request: True])
def test_all_defaults(option: ElicitationOption) -> None:
    """F-API-10: SEP-1034."""
    assert answer(option, form()) == {"action": "accept", "content": DEFAULTS}


@pytest.mark.parametrize(
    ("returned", "action"),
    [
        (False, "decline"),
        (None, "cancel"),
        ({"action": "decline"}, "decline"),
        ({"action": "cancel", "content": {"name": "x"}}, "cancel"),
    ],
)
def test_refusals_carry_nothing(returned: object, action: str) -> None:
    """F-API-10: what a user declines or dismisses is not sent."""
    assert answer(lambda request: returned, form("name")) == {"action": action}


def test_the_answer_as_the_protocol_has_it() -> None:
    """F-API-10"""
    wire = {"action": "accept", "content": {"name": "Ada"}}
    content = {**DEFAULTS, "name": "Ada"}
    assert answer(lambda request: wire, form()) == {"action": "accept", "content": content}
    assert answer(lambda request: {"action": "accept"}, form())["content"] == DEFAULTS


def test_a_form_may_have_a_field_called_action() -> None:
    """F-API-10: then a dict is always the content."""
    asked = form("action", action={"type": "string"})
    result = answer(lambda request: {"action": "decline"}, asked)
    assert result == {"action": "accept", "content": {"action": "decline"}}


@pytest.mark.parametrize(
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


def test_an_answer_is_judged_before_it_is_given() -> None:
    """F-API-10: as a form in a terminal or a page does; what is declined need not fit."""
    request = ElicitationRequest(form("name"), "server")
    assert form_problem(request, {"name": "Ada"}) is None
    assert form_problem(request, {"name": 7}) == "/name (type)"
    assert form_problem(request, {}) == "not filled in: name"
    assert form_problem(request, False) is form_problem(request, None) is None
    assert "returned str" in str(form_problem(request, "Ada"))


def test_what_was_entered_is_not_told() -> None:
    """F-API-10: the server learns where it does not fit, and nothing of the value."""
    with pytest.raises(HandlerFailed) as caught:
        answer(lambda request: {"mail": "my secret"}, form())
    assert caught.value.reason == "the answer does not fit the form: /mail (format)"


@pytest.mark.parametrize(
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


def test_a_form_that_nothing_fits_is_not_shown() -> None:
    """F-API-10: a schema that cannot be used is the server's fault; nobody fills it in."""

    def ask(request: ElicitationRequest) -> None:
        raise AssertionError("nobody should be asked")

    with pytest.raises(ProtocolViolation, match="JSON Schema cannot be used"):
        answer(ask, form(name={"type": "nonsense"}))
    with pytest.raises(ProtocolViolation, match="requestedSchema"):
        answer(ask, {"message": "Please"})


@pytest.mark.parametrize(
    ("returned", "action"),
    [(True, "accept"), (False, "decline"), (None, "cancel"), ({"action": "accept"}, "accept")],
)
def test_a_visit(returned: object, action: str) -> None:
    """F-API-10: URL mode; only the consent is sent."""
    assert answer(Elicitation(url=lambda request: returned), VISIT) == {"action": action}


def test_each_mode_has_its_own_handler() -> None:
    """F-API-10: declared for the handlers given, and nothing else is answered."""
    both = Elicitation(form=accept_defaults, url=lambda request: False)
    assert ElicitationAnswerer(both).settings == {"form": {}, "url": {}}
    assert ElicitationAnswerer(accept_defaults).settings == {"form": {}}
    assert answer(both, VISIT) == {"action": "decline"}
    assert answer(both, form())["action"] == "accept"
    with pytest.raises(ProtocolViolation, match="mode 'url' was not declared"):
        answer(accept_defaults, VISIT)
    with pytest.raises(ProtocolViolation, match="mode 'form' was not declared"):
        answer(Elicitation(url=lambda request: True), form())


@pytest.mark.parametrize("option", [Elicitation(), Elicitation(on_complete=print), "ask", 7])
def test_options_that_are_none(option: Any) -> None:
    """F-API-10"""
    with pytest.raises(UsageError, match=r"elicitation|Elicitation"):
        ElicitationAnswerer(option)


async def test_the_server_asks_by_itself() -> None:
    """F-API-10: a request in the handshake era; every failure is an answer."""
    server = ScriptedServer(version=HANDSHAKE)

    async def ask(request: ElicitationRequest) -> Any:
        if request.message == "raise":
            raise ValueError("s3cret")
        return {"name": "A"} if request.message == "misfit" else {"name": "Ada"}

    async with server.client(elicitation=ask) as client:
        declared = server.sent("initialize")[0]["capabilities"]
        assert declared == {"elicitation": {"form": {}}}
        asked = form(name=PROPERTIES["name"])
        reply = await server.ask(1, "elicitation/create", **asked)
        assert reply["result"] == {"action": "accept", "content": {"name": "Ada"}}
        for message, code in (("raise", -32603), ("misfit", -32603)):
            reply = await server.ask(2, "elicitation/create", **{**asked, "message": message})
            assert reply["error"]["code"] == code
            assert "s3cret" not in str(reply)
        reply = await server.ask(3, "elicitation/create", **VISIT)
        assert reply["error"]["code"] == -32602
        reply = await server.ask(4, "sampling/createMessage", messages=[])
        assert reply["error"]["code"] == -32601
        assert client.is_connected


async def test_a_human_takes_no_call_s_time() -> None:
    """F-API-7, F-API-10: an hour with a form, within a call that may take seconds."""
    server = ScriptedServer({"tools/call": lambda params: None}, version=HANDSHAKE)

    async def ask(request: ElicitationRequest) -> bool:
        await asyncio.sleep(3600)
        return True

    async with server.client(elicitation=ask) as client:
        call = asyncio.ensure_future(client.call_tool("t", timeout=2, max_timeout=3))
        await turns()
        reply = await server.ask(1, "elicitation/create", **form())
        assert reply["result"]["action"] == "accept"
        server.reply(server.ids("tools/call")[0], {"content": []})
        assert (await call).content == []


async def test_a_handler_that_hangs_is_cancelled() -> None:
    """F-API-10: by the server, and by the end of the connection."""
    server = ScriptedServer(version=HANDSHAKE)
    ended: list[str] = []

    async def hang(request: ElicitationRequest) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(request.message)

    async with server.client(elicitation=hang):
        for request_id in (1, 2):
            asked = {**form(), "message": str(request_id)}
            asking = asyncio.ensure_future(server.ask(request_id, "elicitation/create", **asked))
            await turns()
            if request_id == 1:
                server.notify("notifications/cancelled", requestId=1)
                await turns()
                assert ended == ["1"]
                assert not asking.done()
            asking.cancel()
            await turns()
    assert ended == ["1", "2"]


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
    answerer = ElicitationAnswerer(Elicitation(url=lambda request: True))
    for number in range(1001):
        await answerer.answer({**VISIT, "elicitationId": str(number)}, "")
    assert list(answerer._visits) == [str(number) for number in range(1, 1001)]
    answerer.closed()
    assert not answerer._visits


def needing_a_visit(params: Mapping[str, Any]) -> dict[str, Any]:
    raise PeerError(-32042, "Visit first", {"elicitations": [VISIT]})


async def test_a_call_that_needs_a_visit() -> None:
    """F-API-10: error -32042 leads to the URL handler, and the call is made once more."""
    visits: list[ElicitationRequest] = []
    server = ScriptedServer({"tools/call": needing_a_visit}, version=HANDSHAKE)

    def visit(request: ElicitationRequest) -> bool:
        visits.append(request)
        if request.url == VISIT["url"] and len(visits) == 1:
            server.answers["tools/call"] = {"content": [{"type": "text", "text": "done"}]}
        return True

    async with server.client(elicitation=Elicitation(url=visit)) as client:
        assert (await client.call_tool("t")).text == "done"
        assert len(server.sent("tools/call")) == 2
        server.answers["tools/call"] = needing_a_visit
        with pytest.raises(UrlElicitationRequired):
            await client.call_tool("t")
        assert len(server.sent("tools/call")) == 4
    assert [visit.elicitation_id for visit in visits] == ["e1", "e1"]


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


async def test_the_server_asks_within_a_call() -> None:
    """F-API-10, F-API-12: the same handler in the stateless era, a form and a visit at once."""

    def call(params: Mapping[str, Any]) -> dict[str, Any]:
        if "inputResponses" in params:
            return {"content": [], "structuredContent": params["inputResponses"]}
        requests = {
            "f": {"method": "elicitation/create", "params": form()},
            "v": {"method": "elicitation/create", "params": VISIT},
        }
        return {"resultType": "input_required", "inputRequests": requests}

    server = ScriptedServer({"tools/call": call}, version=STATELESS)
    both = Elicitation(form=accept_defaults, url=lambda request: True)
    async with server.client(elicitation=both) as client:
        assert (await client.call_tool("t")).structured == {
            "f": {"action": "accept", "content": DEFAULTS},
            "v": {"action": "accept"},
        }
        meta = server.sent("tools/call")[0]["_meta"]
        declared = meta["io.modelcontextprotocol/clientCapabilities"]
        assert declared == {"elicitation": {"form": {}, "url": {}}}


@pytest.mark.parametrize(("count", "asked"), [(20, 20), (21, 0), (5_000, 0)])
def test_a_user_is_asked_for_so_many_visits(count: int, asked: int) -> None:
    """F-API-10: an error with five thousand of them asks for none."""
    seen: list[str | None] = []

    def visit(request: ElicitationRequest) -> bool:
        seen.append(request.url)
        return True

    handlers = Handlers(elicitation=Elicitation(url=visit))
    visits = [{**VISIT, "elicitationId": str(number)} for number in range(count)]
    assert asyncio.run(handlers.ask_for_visits(visits)) is (asked > 0)
    assert len(seen) == asked


@pytest.mark.real_time
async def test_a_call_that_needs_a_visit_by_its_status() -> None:
    """F-API-10, F-HTTP-7: the error is the same in the body of an HTTP 400."""
    visits: list[str] = []
    endpoint = StreamableEndpoint(McpServer())

    async def post(request: Request, answer: Answer) -> None:
        message = request.message
        if message.get("method") == "tools/call" and not visits:
            data = {"elicitations": [VISIT]}
            error = messages.error_response(message["id"], -32042, "Visit first", data)
            answer.json(error, status=400)
        else:
            await endpoint.post(request, answer)

    def visit(request: ElicitationRequest) -> bool:
        visits.append(str(request.url))
        return True

    async with HttpServer({**endpoint.routes, "POST /mcp": post}) as http:
        client = Client(str(http.url()), elicitation=Elicitation(url=visit))
        async with client:
            assert (await client.call_tool("echo", {"text": "hi"})).text == "hi"
    assert visits == [VISIT["url"]]

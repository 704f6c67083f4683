"""The routes of the inspector's web server: its page, its data, and their authorization."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
from collections.abc import AsyncIterator, Awaitable, Mapping
from os import urandom
from typing import Any, Callable

from .. import __version__
from ..errors import McpError, UsageError
from ..net.local_http import LocalRequest, LocalResponse
from .board import PageRequest, with_limited_depth
from .described import described_call, described_error, finish_login, log_out
from .document import page, policy
from .lists import schema_issues
from .servers import Room, Watch

# Seconds between two updates of a page: too short to notice, and long enough that a server that
# sends a thousand messages costs the page one redraw.
_INTERVAL = 0.1
# Seconds of silence after which an event stream sends a comment, to keep the connection alive.
_QUIET = 15.0

# Rows of the wire in an update, and at most in a response.
_TAIL = 200
_MAX_ROWS = 1_000

_LANES = ("client", "server", "http", "stderr")

Handler = Callable[["Routes", LocalRequest], Awaitable[LocalResponse]]


class Routes:
    """The routes of a page's requests. All but the empty page require ``token``.

    ``allow``: with ``look`` the page changes nothing; with ``call`` it makes requests; with ``add``
    it adds servers, which may be any command.
    """

    def __init__(self, room: Room, token: str, allow: str) -> None:
        self._room = room
        self._token = token.encode()
        self._allow = allow

    def refusal_of(self, request: LocalRequest) -> LocalResponse | None:
        """Return the refusal of an unauthorized, unknown or forbidden request, or None."""
        methods = _ROUTES.get(request.path)
        if request.path != "/" and not self._is_authorized(request):
            return LocalResponse(
                401, body=b"the token is missing, or is not that of this inspector"
            )
        if methods is None:
            return LocalResponse(404, body=b"there is nothing here")
        route = methods.get(request.method)
        if route is None:
            return LocalResponse(405, body=b"not this way", headers={"Allow": ", ".join(methods)})
        if route[1] not in _GRANTS[self._allow]:
            text = f"this inspector was opened with allow={self._allow!r}"
            return _json({"error": {"type": "NotAllowed", "text": text}}, 403)
        return None

    async def answer(self, request: LocalRequest) -> LocalResponse:
        """Return the response to a request that is not refused."""
        handler, _ = _ROUTES[request.path][request.method]
        try:
            return await handler(self, request)
        except McpError as error:
            return _json({"error": described_error(error)}, 400)

    def _is_authorized(self, request: LocalRequest) -> bool:
        given = request.headers.get("authorization", "").encode("latin-1")
        return hmac.compare_digest(given, b"Bearer " + self._token)

    async def _page(self, request: LocalRequest) -> LocalResponse:
        nonce = urandom(16).hex()
        headers = {"Content-Security-Policy": policy(nonce)}
        return LocalResponse(200, "text/html; charset=utf-8", page(nonce), headers)

    def _watch(self, request: LocalRequest) -> Watch:
        return self._room.watch(request.query.get("server"))

    # State

    async def _state(self, request: LocalRequest) -> LocalResponse:
        self._room.observe()
        return _json(
            {
                "inspector": __version__,
                "allow": self._allow,
                "version": self._room.board.version,
                "items": _items(self._room, 0),
                "wire": self._wire({}),
            }
        )

    async def _events(self, request: LocalRequest) -> LocalResponse:
        last = request.headers.get("last-event-id", "0")
        version = int(last) if last.isascii() and last.isdigit() else 0
        return LocalResponse(200, "text/event-stream", self._stream(version))

    async def _stream(self, version: int) -> AsyncIterator[bytes]:
        told: dict[str, int] = {}
        loop = asyncio.get_running_loop()
        spoke = loop.time()
        with self._room.being_watched():
            while True:
                self._room.observe()
                items, wire = _items(self._room, version), self._wire(told)
                if items or wire:
                    version = self._room.board.version
                    data = _encode({"items": items, "wire": wire})
                    yield f"id: {version}\ndata: {data}\n\n".encode()
                    spoke = loop.time()
                elif loop.time() - spoke > _QUIET:
                    yield b": nothing new\n\n"
                    spoke = loop.time()
                await asyncio.sleep(_INTERVAL)

    def _wire(self, told: dict[str, int]) -> dict[str, Any]:
        """Return the new rows of each server's wire; ``told`` counts those sent already."""
        news = {}
        for name, watch in self._room.watches.items():
            journal, known = watch.journal, told.get(name, -1)
            if journal.next != known:
                told[name] = journal.next
                first = max(known, journal.next - _TAIL)
                news[name] = {
                    "first": journal.first,
                    "next": journal.next,
                    "counts": dict(journal.counts),
                    "rows": journal.rows(first, _TAIL),
                }
        return news

    async def _lists(self, request: LocalRequest) -> LocalResponse:
        watch = self._watch(request)
        return _json(await watch.lists(fresh="fresh" in request.query))

    async def _schemas(self, request: LocalRequest) -> LocalResponse:
        # A request of its own: checking the schemas of thousands of tools takes a second.
        watch = self._watch(request)
        lists = await watch.lists(fresh=False)
        return _json({"odd": await schema_issues(lists["tools"])})

    # The wire

    async def _rows(self, request: LocalRequest) -> LocalResponse:
        journal = self._watch(request).journal
        first, count = _number(request, "first"), _number(request, "count")
        return _json({"rows": journal.rows(first, min(count, _MAX_ROWS))})

    async def _find(self, request: LocalRequest) -> LocalResponse:
        journal = self._watch(request).journal
        lanes = request.query.get("lanes", ",".join(_LANES)).split(",")
        after = _number(request, "after", default=-1)
        end = journal.next
        query = request.query
        text, only, method = (query.get(name, "") for name in ("text", "only", "method"))
        found = await journal.find(text, lanes, after, only=only, method=method)
        return _json({"numbers": found, "searched": max(end - 1, after)})

    async def _record(self, request: LocalRequest) -> LocalResponse:
        journal = self._watch(request).journal
        line = journal.line(_number(request, "number"))
        if line is None:
            raise UsageError("this record is no longer kept")
        if "NaN" in line or "Infinity" in line:
            return _json(json.loads(line))
        return LocalResponse(200, "application/json", line.encode("utf-8", "surrogatepass"))

    async def _transcript(self, request: LocalRequest) -> LocalResponse:
        journal = self._watch(request).journal
        text = "".join(journal.transcript())
        return LocalResponse(200, "application/jsonl", text.encode("utf-8", "surrogatepass"))

    async def _calls(self, request: LocalRequest) -> LocalResponse:
        return _json({"calls": [described_call(call) for call in self._watch(request).calls()]})

    async def _exchanges(self, request: LocalRequest) -> LocalResponse:
        return _json({"exchanges": self._watch(request).journal.exchanges})

    async def _block(self, request: LocalRequest) -> LocalResponse:
        journal = self._watch(request).journal
        return _json({"lines": journal.block(_number(request, "number"))})

    # Actions

    async def _request(self, request: LocalRequest) -> LocalResponse:
        wanted = PageRequest.of(_body(request))
        watch = self._room.watch(wanted.server)
        return _json({"id": self._room.calls.start(watch.client, wanted)})

    async def _call(self, request: LocalRequest) -> LocalResponse:
        result = self._room.calls.result(request.query.get("id", ""))
        if result is None:
            raise UsageError("this call has no result, or its result is no longer kept")
        return _json(result)

    async def _cancel(self, request: LocalRequest) -> LocalResponse:
        self._room.calls.cancel(str(_body(request).get("id")))
        return _json({})

    async def _answer(self, request: LocalRequest) -> LocalResponse:
        body = _body(request)
        self._room.questions.answer(str(body.get("id")), body.get("answer"))
        return _json({})

    async def _connect(self, request: LocalRequest) -> LocalResponse:
        self._room.connect(str(_body(request).get("server")))
        return _json({})

    async def _disconnect(self, request: LocalRequest) -> LocalResponse:
        await self._room.source.disconnect(str(_body(request).get("server")))
        return _json({})

    async def _sheet(self, request: LocalRequest) -> LocalResponse:
        sheet = self._room.source.sheet(request.query.get("server", ""))
        return _json({"source": sheet.source, **await asyncio.to_thread(sheet.as_json)})

    async def _approve(self, request: LocalRequest) -> LocalResponse:
        body = _body(request)
        name, source = str(body.get("server")), self._room.source
        await source.approve(name, str(body.get("sha256")))
        return _json({"status": source.states()[name].status})

    async def _login(self, request: LocalRequest) -> LocalResponse:
        return _json(await self._watch(request).login())

    async def _finish_login(self, request: LocalRequest) -> LocalResponse:
        name = str(_body(request).get("server"))
        client = self._room.watch(name).client
        await finish_login(client, str(_body(request).get("address")))  # tracebacks show variables
        self._room.connect(name)
        return _json({})

    async def _log_out(self, request: LocalRequest) -> LocalResponse:
        name = str(_body(request).get("server"))
        client = self._room.watch(name).client
        # Disconnect first: the server can end the session while the token is valid, and no
        # request starts another login afterwards.
        await self._room.source.disconnect(name)
        await log_out(client)
        return _json({})

    async def _roots(self, request: LocalRequest) -> LocalResponse:
        body = _body(request)
        roots = body.get("roots")
        if not isinstance(roots, list):
            raise UsageError("roots must be a list of file:// URIs")
        watch = self._room.watch(body.get("server"))
        await watch.client.set_roots(roots)
        return _json({})

    async def _add(self, request: LocalRequest) -> LocalResponse:
        body = _body(request)
        target = body.get("target")
        if not isinstance(target, (str, dict)) or not target:
            raise UsageError("a server must be a URL, a command, or a configuration")
        await self._room.source.add(str(body.get("name") or ""), target)
        return _json({})


_ROUTES: Mapping[str, Mapping[str, tuple[Handler, str]]] = {
    "/": {"GET": (Routes._page, "look")},
    "/api/state": {"GET": (Routes._state, "look")},
    "/api/events": {"GET": (Routes._events, "look")},
    "/api/lists": {"GET": (Routes._lists, "look")},
    "/api/schemas": {"GET": (Routes._schemas, "look")},
    "/api/rows": {"GET": (Routes._rows, "look")},
    "/api/find": {"GET": (Routes._find, "look")},
    "/api/record": {"GET": (Routes._record, "look")},
    "/api/transcript": {"GET": (Routes._transcript, "look")},
    "/api/calls": {"GET": (Routes._calls, "look")},
    "/api/exchanges": {"GET": (Routes._exchanges, "look")},
    "/api/block": {"GET": (Routes._block, "look")},
    "/api/call": {"GET": (Routes._call, "look")},
    "/api/request": {"POST": (Routes._request, "call")},
    "/api/cancel": {"POST": (Routes._cancel, "call")},
    "/api/answer": {"POST": (Routes._answer, "call")},
    "/api/connect": {"POST": (Routes._connect, "call")},
    "/api/disconnect": {"POST": (Routes._disconnect, "call")},
    "/api/sheet": {"GET": (Routes._sheet, "look")},
    "/api/approve": {"POST": (Routes._approve, "call")},
    "/api/login": {"GET": (Routes._login, "look"), "POST": (Routes._finish_login, "call")},
    "/api/logout": {"POST": (Routes._log_out, "call")},
    "/api/roots": {"POST": (Routes._roots, "call")},
    "/api/add": {"POST": (Routes._add, "add")},
}

_GRANTS = {"look": {"look"}, "call": {"look", "call"}, "add": {"look", "call", "add"}}

# ASCII, as UTF-8 has no lone surrogates.
_encode_finite = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _encode(value: Any) -> str:
    """Return a value as JSON; NaN and the infinities as strings that the page knows."""
    try:
        return _encode_finite(value)
    except ValueError:
        return _encode_finite(_with_marks(value))


def _with_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_marks(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_marks(item) for item in value]
    is_finite = not isinstance(value, float) or math.isfinite(value)
    return value if is_finite else f"\ue000{json.dumps(value)}"


def _json(value: Any, status: int = 200) -> LocalResponse:
    return LocalResponse(status, "application/json", _encode(with_limited_depth(value)).encode())


def _items(room: Room, version: int) -> list[list[Any]]:
    return [[item.kind, item.name, item.value] for item in room.board.since(version)]


def _body(request: LocalRequest) -> dict[str, Any]:
    try:
        value = json.loads(request.body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError("the body of a request must be a JSON object")
    return value


def _number(request: LocalRequest, name: str, default: int = 0) -> int:
    text = request.query.get(name, str(default))
    digits = text[1:] if text[:1] == "-" else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise UsageError(f"{name} must be an integer")
    return int(text)

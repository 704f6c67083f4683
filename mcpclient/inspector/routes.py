"""The routes of the inspector's web server: its page, its data, and their authorization."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable
from dataclasses import asdict
from os import urandom
from typing import Any, Callable, NamedTuple

from ..errors import McpError, UsageError
from ..jsonrpc.codec import parse_json
from ..net.local_http import LocalRequest, LocalResponse
from ..version import __version__
from .board import PageRequest, with_limited_depth
from .described import (
    described_error,
    described_login,
    finish_login,
    form_problems,
    known_login,
)
from .journal import Row
from .report import encode, report, template
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


def page(nonce: str) -> bytes:
    """Return the document, which uses only the style and the script that carry ``nonce``."""
    return template().replace("{NONCE}", nonce).encode()


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy to serve it with.

    ``blob:`` is for images and sound of a tool's result, which are in the page already.
    """
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; img-src blob:; media-src blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


class _Told(NamedTuple):
    """The records, versions of spans and revisions of one server that a page knows of."""

    row: int
    span: int
    revised: int


_Given = dict[str, Any]
Handler = Callable[["Routes", _Given], Awaitable[Any]]


class Routes:
    """The routes of a page's requests; all but the empty page need ``token``. See `inspect`."""

    def __init__(self, room: Room, token: str, allow: str) -> None:
        self._room = room
        self._token = token.encode()
        self._allow = allow

    def refusal_of(self, request: LocalRequest) -> LocalResponse | None:
        """Return the refusal of an unauthorized, unknown or forbidden request, or None."""
        methods = _ROUTES.get(request.path)
        given = request.headers.get("authorization", "").encode("latin-1")
        is_authorized = hmac.compare_digest(given, b"Bearer " + self._token)
        if request.path != "/" and not is_authorized:
            return LocalResponse(401, body=b"the token is missing, or belongs to another inspector")
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
            found = await handler(self, _given(request))
        except McpError as error:
            return _json({"error": described_error(error)}, 400)
        return found if isinstance(found, LocalResponse) else _json({} if found is None else found)

    # Each takes the query of a GET or the body of a POST, and returns a JSON value or a response.

    async def _page(self, given: _Given) -> LocalResponse:
        nonce = urandom(16).hex()
        headers = {"Content-Security-Policy": policy(nonce)}
        return LocalResponse(200, "text/html; charset=utf-8", page(nonce), headers)

    def _watch(self, given: _Given) -> Watch:
        return self._room.watch(given.get("server"))

    # State

    async def _get_state(self, given: _Given) -> Any:
        self._room.observe()
        return {
            "inspector": __version__,
            "allow": self._allow,
            "row": Row._fields,
            "version": self._room.board.version,
            "items": self._items(0),
            "wire": self._wire({}),
        }

    async def _get_events(self, given: _Given) -> LocalResponse:
        version = _number(given, "last-event-id")
        return LocalResponse(200, "text/event-stream", self._stream(version))

    async def _stream(self, version: int) -> AsyncIterator[bytes]:
        told: dict[str, _Told] = {}
        loop = asyncio.get_running_loop()
        spoke = loop.time()
        with self._room.being_watched():
            while True:
                self._room.observe()
                items, wire = self._items(version), self._wire(told)
                if items or wire:
                    version = self._room.board.version
                    data = encode({"items": items, "wire": wire})
                    yield f"id: {version}\ndata: {data}\n\n".encode()
                    spoke = loop.time()
                elif loop.time() - spoke > _QUIET:
                    yield b": nothing new\n\n"
                    spoke = loop.time()
                await asyncio.sleep(_INTERVAL)

    def _items(self, version: int) -> list[list[Any]]:
        return [[item.kind, item.name, item.value] for item in self._room.board.since(version)]

    def _wire(self, told: dict[str, _Told]) -> dict[str, Any]:
        """Return the news of each server's wire; ``told`` counts the news sent before."""
        news = {}
        for name, watch in self._room.watches.items():
            journal = watch.journal
            known = told.get(name) or _Told(-1, 0, 0)
            now = _Told(journal.next, journal.spans.version, len(journal.revised))
            if now != known:
                told[name] = now
                news[name] = {
                    "first": journal.first,
                    "next": journal.next,
                    "counts": dict(journal.counts),
                    "rows": [
                        *(
                            row
                            for n in journal.revised[known.revised :]
                            for row in journal.rows(n, 1)
                        ),
                        *journal.rows(max(known.row, journal.next - _TAIL), _TAIL),
                    ],
                    "spans": [asdict(each) for each in journal.spans.since(known.span, _MAX_ROWS)],
                }
        return news

    async def _get_lists(self, given: _Given) -> Any:
        return await self._watch(given).lists(fresh="fresh" in given)

    async def _get_faults(self, given: _Given) -> Any:
        # A request of its own: checking the schemas of thousands of tools takes a second.
        return await self._watch(given).faults()

    # The wire

    async def _get_rows(self, given: _Given) -> Any:
        journal, count = self._watch(given).journal, _number(given, "count")
        return {"rows": journal.rows(_number(given, "first"), min(count, _MAX_ROWS))}

    async def _get_find(self, given: _Given) -> Any:
        journal, after = self._watch(given).journal, _number(given, "after", default=-1)
        lanes = given.get("lanes", ",".join(_LANES)).split(",")
        end = journal.next
        text, only, method = (given.get(name, "") for name in ("text", "only", "method"))
        last = _number(given, "last", default=end)
        found = await journal.find(text, lanes, after, last=last, only=only, method=method)
        return {"numbers": found, "searched": max(end - 1, after)}

    async def _get_record(self, given: _Given) -> Any:
        line = self._watch(given).journal.line(_number(given, "number"))
        if line is None:
            raise UsageError("this record is no longer kept")
        if "NaN" in line or "Infinity" in line:
            return json.loads(line)
        return LocalResponse(200, "application/json", line.encode("utf-8", "surrogatepass"))

    async def _get_transcript(self, given: _Given) -> LocalResponse:
        text = "".join(self._watch(given).journal.transcript())
        return LocalResponse(200, "application/jsonl", text.encode("utf-8", "surrogatepass"))

    async def _get_report(self, given: _Given) -> LocalResponse:
        return LocalResponse(200, "text/html; charset=utf-8", (await report(self._room)).encode())

    async def _get_calls(self, given: _Given) -> Any:
        return {"calls": self._watch(given).calls()}

    async def _get_exchanges(self, given: _Given) -> Any:
        return {"exchanges": list(self._watch(given).journal.exchanges.values())}

    async def _get_block(self, given: _Given) -> Any:
        return {"lines": self._watch(given).journal.block(_number(given, "number"))}

    # Actions

    async def _post_request(self, given: _Given) -> Any:
        wanted = PageRequest.of(given)
        return {"id": self._room.calls.start(self._watch(given).client, wanted)}

    async def _get_call(self, given: _Given) -> Any:
        result = self._room.calls.result(given.get("id", ""))
        if result is None:
            raise UsageError("this call has no result, or its result is no longer kept")
        return result

    async def _post_cancel(self, given: _Given) -> None:
        self._room.calls.cancel(str(given.get("id")))

    async def _post_check(self, given: _Given) -> Any:
        # In a thread, as a server chooses its schemas.
        return await asyncio.to_thread(form_problems, given.get("schema"), given.get("value"))

    async def _post_answer(self, given: _Given) -> None:
        self._room.questions.answer(str(given.get("id")), given.get("answer"))

    async def _post_connect(self, given: _Given) -> None:
        self._room.connect(str(given.get("server")))

    async def _post_disconnect(self, given: _Given) -> None:
        await self._room.source.disconnect(str(given.get("server")))

    async def _get_sheet(self, given: _Given) -> Any:
        sheet = self._room.source.sheet(given.get("server", ""))
        return {"source": sheet.source, **await asyncio.to_thread(sheet.as_json)}

    async def _post_approve(self, given: _Given) -> Any:
        name, source = str(given.get("server")), self._room.source
        await source.approve(name, str(given.get("sha256")))
        return {"status": source.states()[name].status}

    async def _get_login(self, given: _Given) -> Any:
        watch = self._watch(given)
        return await described_login(watch.client, watch.state.error)

    async def _post_login(self, given: _Given) -> None:
        client = self._watch(given).client
        # Tracebacks show variables, so none holds the address.
        await finish_login(client, str(given.pop("address", None)))
        self._room.connect(given["server"])

    async def _post_logout(self, given: _Given) -> None:
        client = self._watch(given).client
        # Disconnect first: the server can end the session while the token is valid, and no
        # request starts another login afterwards.
        await self._room.source.disconnect(given["server"])
        await known_login(client).log_out()

    async def _post_roots(self, given: _Given) -> None:
        roots = given.get("roots")
        if not isinstance(roots, list):
            raise UsageError("roots must be a list of file:// URIs")
        await self._watch(given).client.set_roots(roots)

    async def _post_add(self, given: _Given) -> None:
        target = given.get("target")
        if not isinstance(target, (str, dict)) or not target:
            raise UsageError("a server must be a URL, a command, or a configuration")
        await self._room.source.add(str(given.get("name") or ""), target)


def _routes() -> dict[str, dict[str, tuple[Handler, str]]]:
    """Return the handlers by path and method, each with the right that the page needs for it.

    ``_get_x`` answers ``GET /api/x``, and ``_post_x`` does what ``POST /api/x`` asks for.
    """
    found: dict[str, dict[str, tuple[Handler, str]]] = {"/": {"GET": (Routes._page, "look")}}
    for name, handler in vars(Routes).items():
        method, _, path = name[1:].partition("_")
        if method in ("get", "post"):
            right = "look" if method == "get" else "add" if path == "add" else "call"
            found.setdefault(f"/api/{path}", {})[method.upper()] = (handler, right)
    return found


_ROUTES = _routes()
_GRANTS = {"look": {"look"}, "call": {"look", "call"}, "add": {"look", "call", "add"}}


def _json(value: Any, status: int = 200) -> LocalResponse:
    return LocalResponse(status, "application/json", encode(with_limited_depth(value)).encode())


def _given(request: LocalRequest) -> _Given:
    """Return the body of a POST, or the query of a GET and its id of the last event."""
    if request.method == "GET":
        return {**request.query, "last-event-id": request.headers.get("last-event-id", "0")}
    value = parse_json(request.body)
    if not isinstance(value, dict):
        raise UsageError("the body of a request must be a JSON object")
    return value


def _number(given: _Given, name: str, default: int = 0) -> int:
    try:
        return int(given.get(name, default))
    except ValueError:
        raise UsageError(f"{name} must be an integer") from None

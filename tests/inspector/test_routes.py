"""F-SHOW-10, F-PACK-2: what the page can ask for, who can, and the page itself."""

from __future__ import annotations

import hmac
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.framing.headers import Headers
from mcpclient.inspector import routes as module
from mcpclient.inspector.report import bundle, template
from mcpclient.inspector.routes import Routes, page, policy
from mcpclient.net.local_http import LocalRequest, LocalResponse
from tests.inspector.scenes import Scene, until

TOKEN = "a-token-for-tests"


class Page:
    """The requests of a page, without a browser: it asks the routes."""

    def __init__(self, scene: Scene, allow: str = "call") -> None:
        self.scene = scene
        self._routes = Routes(scene.inspector.room, TOKEN, allow)

    async def ask(
        self, method: str, path: str, body: Any = None, token: str = TOKEN, **query: Any
    ) -> LocalResponse:
        headers = Headers([("Authorization", f"Bearer {token}")])
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = {name: str(value) for name, value in query.items()}
        request = LocalRequest(method, path, asked, headers, data)
        return self._routes.refusal_of(request) or await self._routes.answer(request)

    async def get(self, path: str, expected: int = 200, **query: Any) -> Any:
        response = await self.ask("GET", path, **query)
        assert response.status == expected, response.body
        assert isinstance(response.body, bytes)
        return json.loads(response.body)

    async def post(self, path: str, body: Any, expected: int = 200) -> Any:
        response = await self.ask("POST", path, body)
        assert response.status == expected, response.body
        assert isinstance(response.body, bytes)
        return json.loads(response.body)


@asynccontextmanager
async def play(allow: str = "call") -> AsyncIterator[Page]:
    async with Scene() as scene:
        yield Page(scene, allow)


async def test_the_token_counts_in_its_header_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-10: not in a query, not in a cookie, where other sites' pages could have it sent.

    Only `hmac.compare_digest` decides, and its time does not depend on how much of it was right.
    """
    async with play() as page:
        for pairs in (
            [],
            [("Cookie", f"token={TOKEN}; Authorization=Bearer {TOKEN}")],
            [("Authorization", f"Basic {TOKEN}")],
            [("Authorization", TOKEN)],
            [("Authorization", "Bearer"), ("Authorization", TOKEN)],
            [("X-Authorization", f"Bearer {TOKEN}")],
        ):
            query = {"t": TOKEN, "token": TOKEN, "access_token": TOKEN}
            request = LocalRequest("GET", "/api/state", query, Headers(pairs), b"")
            refused = page._routes.refusal_of(request)
            assert refused is not None and refused.status == 401
        monkeypatch.setattr(hmac, "compare_digest", lambda given, expected: False)
        assert (await page.ask("GET", "/api/state")).status == 401


async def test_paths_and_methods_that_there_are_not() -> None:
    async with play() as page:
        assert (await page.ask("GET", "/api/nothing")).status == 404
        refused = await page.ask("GET", "/api/request")
        assert (refused.status, refused.headers["Allow"]) == (405, "POST")
        for method in ("HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE"):
            assert (await page.ask(method, "/", token="")).status == 405


async def test_the_state_tells_servers_and_the_wire() -> None:
    async with play() as page:
        state = await page.get("/api/state")
        assert state["allow"] == "call"
        (item,) = [item for item in state["items"] if item[0] == "server"]
        assert item[1] == page.scene.name
        assert item[2]["status"] == "connected"
        wire = state["wire"][page.scene.name]
        assert wire["first"] == 0
        assert wire["next"] == len(wire["rows"]) == 4
        assert wire["rows"][1][4] == "initialize"


async def test_news_come_as_a_stream_from_where_it_was_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with play() as page:
        page.scene.inspector.room.observe()
        monkeypatch.setattr(module, "_INTERVAL", 0.001)
        response = await page.ask("GET", "/api/events")
        assert response.content_type == "text/event-stream"
        stream: Any = response.body
        first = (await stream.__anext__()).decode()
        assert first.startswith(f"id: {page.scene.inspector.room.board.version}\ndata: ")
        news = json.loads(first.partition("data: ")[2])
        assert [item[0] for item in news["items"]] == ["server"]
        assert news["wire"][page.scene.name]["next"] == 4
        await page.scene.client.ping()
        second = json.loads((await stream.__anext__()).decode().partition("data: ")[2])
        assert second["items"] == []
        assert [row[4] for row in second["wire"][page.scene.name]["rows"]] == ["ping", "ping"]
        monkeypatch.setattr(module, "_QUIET", -1)
        assert (await stream.__anext__()).startswith(b": ")
        await stream.aclose()


async def test_a_call_and_what_came_of_it() -> None:
    async with play() as page:
        params = {"name": "echo", "arguments": {"message": "hi"}}
        wanted = {"server": page.scene.name, "method": "tools/call", "params": params}
        name = (await page.post("/api/request", wanted))["id"]
        await until(lambda: page.scene.inspector.room.calls.result(name))
        outcome = await page.get("/api/call", id=name)
        assert outcome["result"]["content"][0]["text"] == "{'message': 'hi'}"
        assert await page.post("/api/cancel", {"id": name}) == {}
        await page.get("/api/call", 400, id="99")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, {"server": "other"}, {}])
async def test_a_request_that_is_none(body: Any) -> None:
    async with play() as page:
        error = (await page.post("/api/request", body, 400))["error"]
        assert error["type"] == "UsageError"


async def test_the_wire_row_by_row_and_record_by_record() -> None:
    async with play() as page:
        name = page.scene.name
        rows = (await page.get("/api/rows", server=name, first=1, count=2))["rows"]
        assert [row[0] for row in rows] == [1, 2]
        record = await page.get("/api/record", server=name, number=1)
        assert record["message"]["method"] == "initialize"
        await page.get("/api/record", 400, server=name, number=99)
        await page.get("/api/rows", 400, server=name, first="x")
        found = await page.get("/api/find", server=name, text="INITIALIZED")
        assert found == {"numbers": [3], "searched": 3}
        found = await page.get("/api/find", server=name, lanes="server", after=3)
        assert found == {"numbers": [], "searched": 3}


async def test_who_logs_out_is_disconnected_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-10: the session is ended with the token that it had."""
    async with play() as page:
        connected: list[bool] = []

        class Login:
            async def log_out(self) -> None:
                connected.append(page.scene.client.is_connected)

        monkeypatch.setattr(module, "known_login", lambda client: Login())
        await page.post("/api/logout", {"server": page.scene.name})
        assert connected == [False]


async def test_lists_and_calls_to_compare() -> None:
    async with play() as page:
        name = page.scene.name
        lists = await page.get("/api/lists", server=name, fresh="1")
        assert len(lists["tools"]) == 16
        found = (await page.get("/api/faults", server=name))["tools"]
        named = [lists["tools"][index] for index, (code, _, _) in found if code == "tool-schema"]
        assert [tool["name"] for tool in named] == ["bad_schema"]
        calls = (await page.get("/api/calls", server=name))["calls"]
        assert calls[0]["method"] == "initialize"
        assert calls[0]["outcome"]["serverInfo"]["name"] == "showcase"


async def test_servers_are_connected_added_and_told_of_roots() -> None:
    async with play("add") as page:
        name = page.scene.name
        roots = {"server": name, "roots": [{"uri": "file:///here"}]}
        await page.post("/api/roots", roots)
        await page.post("/api/roots", {"server": name, "roots": "x"}, 400)
        await page.post("/api/add", {"name": "more", "target": "command"})
        await page.post("/api/add", {"name": "more", "target": "command"}, 400)
        await page.post("/api/add", {"name": "other", "target": 7}, 400)
        assert [item[1] for item in (await page.get("/api/state"))["items"]] == [name, "more"]
        await page.post("/api/disconnect", {"server": name})
        await page.post("/api/disconnect", {"server": "nobody"}, 400)
        assert not page.scene.client.is_connected
        assert page.scene.showcase.received[-1]["method"] != "tools/call"


def test_no_secret_in_the_request_is_shown_by_it() -> None:
    """F-AUTH-12"""
    headers = Headers([("Authorization", f"Bearer {TOKEN}")])
    assert TOKEN not in repr(LocalRequest("GET", "/", {}, headers, TOKEN.encode()))


async def test_numbers_that_json_lacks_are_marked() -> None:
    """F-SHOW-14: a browser could not read the rest either."""
    async with play() as page:
        journal = page.scene.inspector.room.watch(page.scene.name).journal
        message = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": [float("-inf")]}}
        journal.append(
            json.dumps({"time": 1, "direction": "received", "channel": "stdio", "message": message})
        )
        record = await page.get("/api/record", server=page.scene.name, number=journal.next - 1)
        assert record["message"]["params"] == {"a": ["\ue000-Infinity"]}


async def test_an_agreement_is_a_request_of_this_page_and_of_no_other() -> None:
    """F-SHOW-14, F-SAFE-5: never by GET, never without the token, never where it may only look."""
    async with play() as page:
        name = page.scene.name
        body = {"server": name, "sha256": "0" * 64}
        assert (await page.ask("GET", "/api/approve", server=name, sha256="0" * 64)).status == 405
        assert (await page.ask("POST", "/api/approve", body, token="other" * 6)).status == 401
        assert "no server here needs approval" in str(await page.post("/api/approve", body, 400))
        assert "no server here" in str(await page.get("/api/sheet", 400, server=name))
    async with play("look") as page:
        assert (await page.ask("POST", "/api/approve", {})).status == 403


PACKAGE = Path(mcpclient.__file__).parent
SOURCES = PACKAGE / "inspector" / "page"

PRINT = "from vendored.inspector.routes import page; sys.stdout.buffer.write(page('n'))"


def test_it_is_one_document_of_less_than_200_kibibytes() -> None:
    template.cache_clear()
    document = page("abc")
    assert len(document) < 200 * 1024
    assert document.count(b'nonce="abc"') == 3
    for left_over in (b"{NONCE}", b"{PACKAGE}", b"/*STYLE*/", b"/*SCRIPT*/"):
        assert left_over not in document


@pytest.mark.parametrize("kind", ["js", "css"])
def test_every_module_is_part_of_it_and_nothing_is_imported_any_more(kind: str) -> None:
    """F-SHOW-10: modules that import each other become one script."""
    text = bundle({"js": "main", "css": "page"}[kind], kind)
    for path in SOURCES.glob(f"*.{kind}"):
        last = path.read_text().rstrip().splitlines()[-2:]
        assert (kind == "css" and path.stem == "page") or "\n".join(last) in text, path.name
    assert "// @ts-check" not in text
    assert not re.search(r"(?m)^(export|import|@import)\b", text)


def test_no_two_modules_have_a_top_level_name_in_common() -> None:
    """In one script the second would take the first one's place."""
    top = r"(?m)^(?:export )?(?:async )?(?:function|class|const|let|var) (\w+)"
    names = [name for path in SOURCES.glob("*.js") for name in re.findall(top, path.read_text())]
    assert len(names) > 200
    assert sorted(names) == sorted(set(names))


def test_modules_are_short_and_their_lines_fit() -> None:
    for path in SOURCES.iterdir():
        lines = path.read_text().splitlines()
        assert len(lines) <= 400, path.name
        too_long = [number for number, line in enumerate(lines, 1) if len(line) > 100]
        assert too_long == [], path.name


def test_nothing_in_it_comes_from_elsewhere_or_runs_by_itself() -> None:
    """F-SHOW-10: no foreign asset, no inline handler, no text that could become markup."""
    document = page("abc").decode()
    markup = re.sub(r"(?s)<(script|style).*?</\\1>", "", (SOURCES / "page.html").read_text())
    assert not re.search(r"\son[a-z]+=|style=|src=|href=|https?:", markup)
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in document
    assert "url(" not in (SOURCES / "page.css").read_text()


def test_no_script_can_end_its_element() -> None:
    for path in SOURCES.glob("*.js"):
        assert "</script" not in path.read_text().lower()


def test_the_policy_allows_this_page_and_nothing_else() -> None:
    rules = dict(rule.split(" ", 1) for rule in policy("abc").split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'nonce-abc'"
    assert rules["connect-src"] == "'self'"
    assert rules["require-trusted-types-for"] == "'script'"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folder", "archive"])
def test_it_travels_under_another_name_and_in_an_archive(form: str, tmp_path: Path) -> None:
    """F-PACK-2: package data, found through the loader, by the name of the package."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "vendored", ignore=ignore, copy_function=shutil.copyfile)
    place = tmp_path
    if form == "archive":
        place = tmp_path / "all.pyz"
        with zipfile.ZipFile(place, "w") as archive:
            for path in (tmp_path / "vendored").rglob("*"):
                archive.write(path, path.relative_to(tmp_path))
        shutil.rmtree(tmp_path / "vendored")
    program = f"import sys; sys.path.insert(0, {str(place)!r}); {PRINT}"
    printed = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True)
    own, other = (f' data-package="{name}"'.encode() for name in (mcpclient.__name__, "vendored"))
    assert page("n").count(own) == 1
    assert printed.stdout == page("n").replace(own, other)

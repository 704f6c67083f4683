"""F-SHOW-10: the page in a real browser: what it shows, what it does, what cannot be done to it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Callable

import pytest
from playwright.async_api import Page, Route, expect

from mcpclient import BrowserLogin, Client, MemoryStore, OAuth, Recording, TwoStepLogin
from mcpclient.inspector.board import Board, Questions
from mcpclient.inspector.inspector import inspect
from mcpclient.recording.transcript import read_transcripts
from tests.inspector.browser import Chromium, axe_violations, call, choose, needs_axe, read, shown
from tests.inspector.scenes import Reaching, Scene
from tests.inspector.showcase import Showcase, odd_tools
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

TOP = Path(__file__).parents[2]
FORMS = ["Python", "command line", "curl"]


async def test_form_and_json_are_two_views_of_the_same(chromium: Chromium) -> None:
    async with chromium.visit(Scene()) as (page, scene):
        await choose(page, "search_issues")
        await page.get_by_label("query").fill("leak")
        await page.get_by_role("button", name="JSON").click()
        raw = page.get_by_label("Arguments as JSON")
        value = json.loads(await raw.input_value())
        assert value == {"query": "leak", "limit": 10}
        await raw.fill("{")
        await page.get_by_role("button", name="Form").click()
        await shown(page, "#detail .problem", "not a JSON object")
        await raw.fill('{"query": "other", "limit": 3, "author": {"bot": true}}')
        await page.get_by_role("button", name="Form").click()
        assert await page.get_by_label("query").input_value() == "other"
        await page.keyboard.press("Control+k")
        await choose(page, "search_issues")
        await call(page)
        sent = scene.showcase.received[-1]["params"]["arguments"]
        assert (sent["query"], sent["author"]) == ("other", {"bot": True})


async def test_a_file_is_sent_as_base64(chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "f.bin"
    path.write_bytes(b"\x00\x01\x02")

    async with chromium.visit(Scene()) as (page, scene):
        await choose(page, "upload")
        await page.locator("input[type=file]").set_input_files(path)
        await shown(page, "#detail .field", "sent as base64")
        await call(page)
        sent = scene.showcase.received[-1]["params"]["arguments"]
        assert (sent["content"], sent["mode"]) == ("AAEC", None)


async def test_the_keyboard_is_enough(chromium: Chromium) -> None:
    """F-SHOW-10: search, list, and the call button one tab away from it."""
    async with chromium.visit(Scene()) as (page, scene):
        await page.keyboard.press("Control+k")
        await page.keyboard.type("ech")
        await page.keyboard.press("ArrowDown")
        await shown(page, "#detail h2", "echo")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.id") == "call"
        await page.keyboard.press("Enter")
        await shown(page, ".lacking", "message: is required")
        await page.keyboard.type("typed")  # where the cursor is now
        await page.keyboard.press("Control+Enter")
        await shown(page, ".outcomes .state", "Done")
        assert scene.showcase.received[-1]["params"]["arguments"] == {"message": "typed"}
        await page.locator("#export summary").focus()
        for key in ("Enter", "Tab", "Escape"):
            await page.keyboard.press(key)
        await page.locator("#export:not([open]) summary:focus").wait_for()


async def test_every_part_is_reached_by_keyboard(chromium: Chromium) -> None:
    """F-SHOW-10: the kinds of offers, a form, the wire, a record and back, a question."""

    async def tab_to(page: Page, selector: str) -> None:
        for _ in range(30):
            await page.keyboard.press("Tab")
            if await page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"no way to {selector}")

    async with chromium.visit(Scene()) as (page, _):
        await tab_to(page, "#tab-tools")
        await page.keyboard.press("ArrowRight")
        await shown(page, "#list .row", "notes.txt")
        await page.keyboard.press("ArrowLeft")
        await tab_to(page, "#list .virtual")
        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowDown")
        await shown(page, "#detail h2", "echo")
        await tab_to(page, "#detail textarea")
        await page.keyboard.type("typed")
        await page.keyboard.press("Control+Enter")
        await shown(page, ".outcomes .state", "Done")
        await tab_to(page, "#wire .virtual")
        await page.keyboard.press("End")
        await shown(page, ".record header", "received")
        await tab_to(page, ".record .tree")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Escape")
        assert await page.locator(".record").is_hidden()
        assert await page.evaluate("document.activeElement.matches('#wire .virtual')")
        await page.keyboard.press("Control+k")
        await page.keyboard.type("ask_user")
        await page.keyboard.press("Enter")
        await tab_to(page, "#call")
        await page.keyboard.press("Enter")
        await page.locator(".question").wait_for()
        await page.locator("#asked").focus()
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.closest('.question') !== null")
        await tab_to(page, ".question textarea")
        await page.keyboard.type("Ada")
        await page.keyboard.press("Control+Enter")
        await shown(page, ".outcomes", "'name': 'Ada'")


async def test_progress_is_live_and_a_call_can_be_cancelled(chromium: Chromium) -> None:
    async with chromium.visit(Scene()) as (page, scene):
        await choose(page, "slow")
        await page.locator("#call").click()
        await expect(page.locator("#call")).to_have_attribute("aria-busy", "true")
        await shown(page, ".underway", "3 of 5 counting")
        await page.locator(".underway button").click()
        await shown(page, ".outcomes .problem", "cancelled")
        await expect(page.locator("#call")).to_have_attribute("aria-busy", "false")
        assert scene.showcase.received[-1]["method"] == "notifications/cancelled"


async def test_failures_and_large_results(chromium: Chromium) -> None:
    expected = {
        "fail": "The tool says that it failed.",
        "refuse": "no such thing",
        "large": "Show more (5,000 of 1,000,000 characters)",
    }

    async with chromium.visit(Scene()) as (page, _):
        for tool, text in expected.items():
            await choose(page, tool)
            await call(page)
            await shown(page, ".outcomes", text)


async def test_images_links_and_structured_content(chromium: Chromium) -> None:
    async with chromium.visit(Scene()) as (page, _):
        await choose(page, "picture")
        await call(page)
        image = page.locator(".outcomes img")
        await image.wait_for()
        assert await image.evaluate("each => each.naturalWidth") == 16
        await shown(page, ".outcomes .tree", "alpha")
        await page.locator(".outcomes .link").click()
        await shown(page, "#detail h2", "file:///notes.txt")
        await call(page)
        await shown(page, ".outcomes", "content of file:///notes.txt")
        await page.get_by_role("button", name="Subscribe", exact=True).click()
        await shown(page, ".outcomes .state", "Done")


async def test_prompts_and_templates_are_completed_by_the_server(chromium: Chromium) -> None:
    async with chromium.visit(Scene()) as (page, _):
        await page.locator("#tab-prompts").click()
        await choose(page, "review")
        await page.get_by_label("language").fill("py")
        option = page.locator("datalist option[value=python]")
        await option.wait_for(state="attached")
        await page.get_by_label("language").fill("python")
        await call(page)
        await shown(page, ".outcomes", "Review this python code.")
        await page.locator("#tab-resources").click()
        await page.locator("#list .row .title", has_text="issue://").click()
        await page.get_by_label("owner").fill("a b")
        await page.get_by_label("number").fill("7")
        await call(page)
        await shown(page, ".outcomes", "content of issue://a%20b/7")


async def test_questions_are_answered_in_the_page(chromium: Chromium) -> None:
    """F-SHOW-10: forms, visits, the answers of a model, and roots."""
    async with chromium.visit(Scene()) as (page, _):
        await choose(page, "ask_user")
        await page.locator("#call").click()
        await page.get_by_label("Your name").fill("Ada")
        await page.get_by_role("button", name="Answer").click()
        await shown(page, ".outcomes", "'name': 'Ada'")
        await choose(page, "visit")
        await page.locator("#call").click()
        assert await read(page, ".question mark") == "pay.example.com"
        await page.get_by_role("button", name="Decline").click()
        await shown(page, ".outcomes", "'action': 'decline'")
        await choose(page, "ask_model")
        await page.locator("#call").click()
        await shown(page, ".question", "What is 6 times 7?")
        await page.get_by_label("Answer", exact=True).fill("42")
        await page.locator(".question").get_by_role("button", name="Answer").click()
        await shown(page, ".outcomes", "'text': '42'")
        await page.locator("#tab-servers").click()
        await page.locator("#list .row", has_text="connected").click()
        await page.get_by_label("One file:// URI to a line").fill("file:///here")
        await page.get_by_role("button", name="Set").click()
        await shown(page, "#detail", "The server has been notified.")
        await page.locator("#tab-tools").click()
        await choose(page, "list_roots")
        await call(page)
        await shown(page, ".outcomes", "file:///here")


async def test_what_is_chosen_meanwhile_is_not_replaced_by_a_call_that_was_slow(
    chromium: Chromium,
) -> None:
    async with chromium.visit(Scene()) as (page, scene):
        may_go_on = asyncio.Event()

        async def hold(route: Route) -> None:
            await may_go_on.wait()
            await route.continue_()

        await scene.client.call_tool("echo", {"message": "over the wire"})
        await page.route("**/api/request", hold)
        await page.locator("#wire .row.request", has_text="echo").click()
        await page.get_by_role("button", name="Replay", exact=True).click()
        await shown(page, "#detail", "Sending")
        await page.get_by_role("button", name="Edit and replay").click()
        may_go_on.set()
        await shown(page, "#tab-calls .number", "1")
        assert await page.get_by_role("textbox", name="message").input_value() == "over the wire"


async def test_a_row_stays_under_the_pointer_while_the_button_is_down(chromium: Chromium) -> None:
    """F-SHOW-10: a list that follows the wire can be clicked."""
    async with chromium.visit(Scene()) as (page, scene):
        row = page.locator("#wire .row").nth(1)
        label = await row.locator(".about").inner_text()
        await row.hover()
        await page.mouse.down()
        for _ in range(500):
            scene.showcase.notify("notifications/message", level="info", data="tick")
        await shown(page, ".lane.server .number", "50")
        await page.mouse.up()
        await shown(page, ".record .tree", label)


async def test_a_reload_loses_nothing_and_the_address_shows_no_token(chromium: Chromium) -> None:
    """F-SHOW-10: the token leaves the address bar, and stays in this tab."""
    async with chromium.visit(Scene()) as (page, _):
        assert "#" not in page.url
        await choose(page, "echo")
        await page.get_by_role("textbox", name="message").fill("x")
        await call(page)
        await page.reload()
        await page.locator("#list .row").first.wait_for()
        await page.locator("#tab-calls").click()
        await shown(page, "#list .row", "echo")
        browser = page.context.browser
        assert browser is not None
        other = await browser.new_page()
        await other.goto(page.url)
        await shown(other, "#gone", "The token is missing")
        assert await other.locator("#list .row").count() == 0


async def test_the_session_is_exported_as_a_transcript(chromium: Chromium) -> None:
    async with chromium.visit(Scene()) as (page, _):
        async with page.expect_download() as download:
            await page.locator("#export summary").click()
            await page.locator("#transcript").click()
        path = await (await download.value).path()
        (transcript,) = read_transcripts(path.read_text().splitlines(keepends=True))
        assert transcript.records[0]["message"]["method"] == "initialize"


async def test_tools_as_odd_as_they_can_be_leave_the_page_usable(chromium: Chromium) -> None:
    """F-SHOW-10: objects for strings, names of prototypes, schemas without end, ten megabytes."""
    async with chromium.visit(Scene(Showcase(tools=odd_tools()))) as (page, scene):
        for tool in odd_tools():
            await choose(page, tool["name"])
            await page.locator("#call").wait_for()
            assert await page.evaluate("document.querySelectorAll('*').length") < 8000
        await page.get_by_label("Search").fill("proto")
        await choose(page, "prototypes")
        await page.locator("#detail .field textarea").first.fill("own")
        await call(page)
        assert scene.showcase.received[-1]["params"]["arguments"] == {"__proto__": "own"}
        assert await page.evaluate("({}).type") is None


async def test_an_odd_question_is_answered_as_json(chromium: Chromium) -> None:
    """F-SHOW-10"""

    class Asking(Showcase):
        async def ask(self, request_id: object, method: str, **params: Any) -> Any:
            asked = {"type": "string", "title": {"toString": 1}, "description": [1]}
            schema = {"type": "object", "properties": {"a": asked}}
            return await super().ask(request_id, method, **{**params, "requestedSchema": schema})

    async with chromium.visit(Scene(Asking())) as (page, _):
        await choose(page, "ask_user")
        await page.locator("#call").click()
        question = page.locator(".question")
        await shown(page, ".question .field", "toString")
        await question.get_by_role("button", name="JSON").click()
        await question.get_by_label("Answer as JSON").fill("[]")
        await question.get_by_role("button", name="Answer").click()
        await shown(page, ".question .problem", "must be an object")
        await question.get_by_label("Answer as JSON").fill('{"a": "x"}')
        await question.get_by_role("button", name="Answer").click()
        await page.locator(".outcomes .state").wait_for()


async def test_thousands_of_tools_are_few_elements(chromium: Chromium) -> None:
    """F-SHOW-10: 5,000 tools and 20,000 messages, and a page that stays small."""
    tools = [{"name": f"tool_{n:04}", "inputSchema": {"type": "object"}} for n in range(5000)]

    async with chromium.visit(Scene(Showcase(tools=tools))) as (page, scene):
        await shown(page, "#tab-tools", "5,000")
        await page.locator("#list .virtual").focus()
        await page.keyboard.press("End")
        await shown(page, "#detail h2", "tool_4999")
        for _ in range(20_000):
            scene.showcase.notify("notifications/message", level="info", data="tick")
        await shown(page, ".lane.server .number", "20,0")
        await page.locator("#wire .virtual").focus()
        await page.keyboard.press("Home")
        await shown(page, "#wire .row", "connection over")
        assert await page.evaluate("document.querySelectorAll('*').length") < 1000


@pytest.mark.parametrize("width", [400, 1280])
async def test_nothing_is_wider_than_the_screen(chromium: Chromium, width: int) -> None:
    async with chromium.visit(Scene(), width=width) as (page, _):
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await choose(page, "search_issues")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 400:
            await page.get_by_role("button", name="Wire").click()
            assert await page.locator("#wire .row").first.is_visible()
            assert not await page.locator("#detail").is_visible()


@needs_axe
@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (400, "dark"), (1280, "dark"), (400, "light")]
)
async def test_it_is_accessible(chromium: Chromium, width: int, scheme: str) -> None:
    """F-SHOW-10: names, roles and contrast, by axe-core."""
    async with chromium.visit(Scene(), width=width, scheme=scheme) as (page, _):
        found: list[str] = []
        found += await axe_violations(page, "start")
        await choose(page, "search_issues")
        found += await axe_violations(page, "form")
        if width == 1280:
            await page.get_by_label("query").fill("x")
            await call(page)
            await page.locator("#wire .row.request").last.click()
            await page.locator(".record .tree").first.wait_for()
            found += await axe_violations(page, "result and record")
            await choose(page, "ask_user")
            await page.locator("#call").click()
            await page.locator(".question").wait_for()
            found += await axe_violations(page, "question")
        assert found == []


async def printed(command: list[str], **variables: str) -> str:
    """Run a command and return its output."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=TOP,
        env={**os.environ, **variables},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, problems = await process.communicate()
    assert process.returncode == 0, problems.decode()
    return out.decode()


async def copied_echo(page: Page, form: str, argument: str) -> str:
    """Fill in a call of echo, and return it as it is copied."""
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await choose(page, "echo")
    await page.get_by_role("button", name="JSON").click()
    await page.get_by_label("Arguments as JSON").fill(json.dumps({argument: 'it\'s "ü"'}))
    button = page.get_by_role("button", name=f"Copy as {form}")
    await button.click()
    await page.locator("#detail .buttons button", has_text="Copied").wait_for()
    text: str = await page.evaluate("navigator.clipboard.readText()")
    return text


def as_command(form: str, text: str) -> list[str]:
    if form == "Python":
        return [sys.executable, "-c", text]
    python, own = shlex.quote(sys.executable), shlex.join([sys.executable, "-m", "mcpclient"])
    programs = f'mcpclient() {{ {own} "$@"; }}\npython3() {{ {python} "$@"; }}\n'
    return ["sh", "-c", programs + text]


@pytest.mark.parametrize("form", ["Python", "command line"])
async def test_what_is_copied_for_a_command_runs(chromium: Chromium, form: str) -> None:
    """F-SHOW-10, F-AUTH-12: as it is, once the variables that stand for secrets are set."""
    server = str(TOP / "mcpclient" / "testing" / "demo_server.py")
    command = [sys.executable, server, "--token", "s3cret"]

    client = Client(command, env={"API_KEY": "s3cret"}, cwd=TOP, protocol_version="2025-11-25")
    async with chromium.visit(Reaching(client)) as (page, _):
        text = await copied_echo(page, form, "message")
        assert await page.get_by_role("button", name="Copy as curl").count() == 0
        assert server in text
        assert "s3cret" not in text + await page.content()
        answer = await printed(as_command(form, text), TOKEN="t", API_KEY="k")
        assert 'it\'s "ü"' in answer.replace("\\", "")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("form", FORMS)
async def test_what_is_copied_for_a_url_runs(chromium: Chromium, form: str, version: str) -> None:
    """F-SHOW-10: curl opens a session of its own, where there are sessions."""
    if form == "curl" and shutil.which("curl") is None:
        pytest.skip("no curl on PATH")
    session = "s" if version == "2025-11-25" else None
    endpoint = StreamableEndpoint(McpServer("both"), session=session)

    async with HttpServer(endpoint.routes) as server:
        headers = {"X-Api-Key": "s3cret"}
        client = Client(str(server.url()), headers=headers, protocol_version=version)
        async with chromium.visit(Reaching(client)) as (page, _):
            text = await copied_echo(page, form, "text")
            answer = await printed(as_command(form, text), X_API_KEY="k")
            assert "it's" in answer.replace("\\", "")


@asynccontextmanager
async def logging_in(
    chromium: Chromium, login: Callable[[Questions, str], Any]
) -> AsyncIterator[tuple[Page, Reaching, Protected]]:
    """The page over a server that wants a login. ``login``: its provider, for a URL."""
    protected, questions = Protected(StreamableEndpoint(McpServer()).routes), Questions(Board())
    async with HttpServer(protected.routes) as server:
        url = str(server.url())
        auth = OAuth(local_development=True, provider=login(questions, url))
        scene = Reaching(Client(url, auth=auth, protocol_version="2025-11-25"), questions)
        ready = "a:text('Open the login page')"
        async with chromium.visit(scene, ready=ready) as (page, _):
            yield page, scene, protected


def in_the_page(questions: Questions, url: str) -> BrowserLogin:
    def show_login(address: str) -> Awaitable[bool]:
        return questions.show_login(url, address)

    return BrowserLogin(MemoryStore(), open_browser=show_login)


async def test_a_login_begins_and_ends_in_the_page_and_leaves_no_secret_in_it(
    chromium: Chromium,
) -> None:
    """F-SHOW-10, F-AUTH-12: issuer, scopes, expiry, the steps on the wire; no token, no code."""
    async with logging_in(chromium, in_the_page) as (page, scene, _):
        async with page.expect_popup() as popup:
            await page.get_by_role("link", name="Open the login page").click()
        await shown(await popup.value, "h1", "You are logged in")
        await shown(page, "#status", "connected")
        await page.locator("#list .row").first.wait_for()
        assert await page.locator(".question").count() == 0
        await shown(page, "#wire .row", "POST /register")
        await page.get_by_label("Filter the wire").fill("/token")
        await page.locator("#wire .row", has_text="POST /token").click()
        await shown(page, ".record .tree", "authorization_code")
        told = await page.evaluate("document.body.innerText")
        watch = scene.inspector.room.watch(scene.client.target)
        assert "SECRET" not in told + "".join(watch.journal.transcript())
        await page.locator("#tab-servers").click()
        login = page.get_by_role("region", name="Login")
        for about in ("logged in, renewed as needed", "the-client", "for 60 min more"):
            await expect(login).to_contain_text(about)
        assert "SECRET" not in await page.content()
        await login.get_by_role("button", name="Log out").click()
        await shown(page, "#status", "not connected")
        await expect(login).to_contain_text("There is no login")
        await page.locator("#detail").get_by_role("button", name="Log in").click()
        await page.get_by_role("link", name="Open the login page").wait_for()


async def test_each_server_that_wants_a_login_has_its_own_address(chromium: Chromium) -> None:
    """F-SHOW-10, F-AUTH-12: the end of one takes none of another away."""
    async with chromium.visit(Scene()) as (page, scene):
        over = asyncio.Event()

        async def log_in(name: str) -> None:
            await scene.questions.show_login(name, f"https://id.example/{name}")
            if name == "one":
                await over.wait()

        login = asyncio.ensure_future(log_in("one"))
        await log_in("two")
        links = page.get_by_role("link", name="Open the login page")
        await expect(links).to_have_count(2)
        over.set()
        await login
        await expect(links).to_have_count(1)
        assert await links.get_attribute("href") == "https://id.example/two"
        await expect(page.locator(".question")).to_contain_text("asked by two")


async def test_a_login_is_finished_by_hand(chromium: Chromium) -> None:
    """F-SHOW-10: where the program has no browser, with the address that one ended at."""
    async with logging_in(chromium, lambda *_: TwoStepLogin(MemoryStore())) as (page, _, protected):
        await shown(page, "#status", "needs a login")
        href = await page.get_by_role("link", name="Open the login page").get_attribute("href")
        assert href is not None
        address = page.get_by_label("paste the address")
        await address.fill(protected.authorize(href))
        await page.get_by_role("button", name="Finish the login").click()
        await shown(page, "#status", "connected")


async def test_two_recordings_are_compared(chromium: Chromium, tmp_path: Path) -> None:
    """F-SHOW-10, F-SHOW-16: without any server."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("a", "b")]
    changed = [{**tools[0], "description": "other"}, {**tools[1], "name": "c"}]
    paths = [tmp_path / "before.jsonl", tmp_path / "after.jsonl"]
    for path, offered in zip(paths, (tools, changed)):
        transport = Showcase(tools=offered).transport
        async with Client(transport, protocol_version="2025-11-25", trace=path) as client:
            await client.list_tools()
            await client.call_tool("echo", {"message": path.name})
    recordings = [Recording(path) for path in paths]
    async with inspect(recordings) as inspector, chromium.page(inspector.url) as page:
        await choose(page, "a")
        assert await page.locator("#call").count() == 0
        await page.locator("#tab-servers").click()
        await page.locator("#list .row", has_text="after.jsonl").click()
        await page.get_by_role("button", name="Compare").click()
        await shown(page, ".changes", "other")
        signs = page.locator(".changes").first.locator(".sign")
        titles = [await sign.get_attribute("title") for sign in await signs.all()]
        assert titles == ["changed", "removed", "added"]
        await shown(page, ".changes", "before.jsonl")
        await page.locator("#wire .row.request", has_text="echo").click()
        await shown(page, ".record .tree", "after.jsonl")


async def test_a_running_program_is_looked_at_and_not_touched(chromium: Chromium) -> None:
    """F-SHOW-10: attached with allow="look", the page makes no calls."""
    client = Client(Showcase().transport, protocol_version="2025-11-25")
    async with client, inspect(client, allow="look") as seen, chromium.page(seen.url) as page:
        await choose(page, "echo")
        assert await page.locator("#call").count() == 0
        await client.call_tool("echo", {"message": "from the program"})
        await shown(page, "#wire .row", "echo")

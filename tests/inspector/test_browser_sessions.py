"""F-SHOW-14: names, calls of others, tasks, HTTP requests, configuration, and a calm layout."""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from mcpclient import Client, Manager
from mcpclient.inspector.inspector import inspect
from tests.client.scripted_server import HANDSHAKE
from tests.inspector.browser import Chromium, axe_violations, call, choose, needs_axe, shown
from tests.inspector.scenes import FAULTY, Reaching, Scene, TaskServer, faulty
from tests.inspector.showcase import Showcase
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

DEMO = str(Path(__file__).parents[2] / "mcpclient" / "testing" / "demo_server.py")


async def test_a_server_is_called_as_it_calls_itself(chromium: Chromium) -> None:
    """F-SHOW-14: title in head, title of the page and overview; the command below, quietly."""
    async with chromium.visit(faulty()) as (page, _):
        await expect(page.locator("#servers option")).to_have_text("Faulty Server")
        await expect(page).to_have_title("Faulty Server – MCP inspector")
        await expect(page.locator("#detail h2")).to_have_text("Faulty Server")
        await shown(page, "#detail .path", FAULTY)


async def test_servers_stand_in_the_order_of_their_file(chromium: Chromium) -> None:
    demo = {"command": sys.executable, "args": [DEMO]}
    async with Manager({"zeta": demo, "alpha": demo, "mid": demo}, wait="none") as manager:
        await manager.connect("mid")
        async with inspect(manager) as seen, chromium.page(seen.url, ready="#servers") as page:
            options = page.locator("#servers option")
            await expect(options).to_have_count(3)
            await manager.disconnect("zeta")
            await manager.connect("zeta")
            await page.reload()
            await expect(options).to_have_count(3)
            names = [text.partition(" ")[0] for text in await options.all_inner_texts()]
            assert names == ["zeta", "alpha", "mid"]


async def test_calls_are_those_of_people_and_programs(chromium: Chromium) -> None:
    """F-SHOW-14: completion is none, and calls of an attached program are."""
    client = Client(Showcase().transport, protocol_version="2025-11-25")
    async with client, inspect(client) as inspector, chromium.page(inspector.url) as page:
        await client.call_tool("echo", {"message": "from the program"})
        await page.locator("#tab-prompts").click()
        await choose(page, "review")
        await page.get_by_label("language").fill("py")
        await page.locator("datalist option[value=python]").wait_for(state="attached")
        await page.locator("#tab-tools").click()
        await choose(page, "picture")
        await call(page)
        await page.locator("#tab-calls").click()
        await expect(page.locator("#list .row")).to_have_count(2)
        await page.locator("#list .row", has_text="on the wire").click()
        await shown(page, "#detail .tree", "from the program")
        await page.get_by_role("button", name="Edit").click()
        assert await page.get_by_label("message").input_value() == "from the program"


async def test_what_was_not_asked_for_is_not_said_to_be_missing(chromium: Chromium) -> None:
    async with chromium.visit(faulty()) as (page, _):
        await page.locator("#tab-resources").click()
        await shown(page, "#list .notes", "does not declare resources, so it was not asked")


async def test_a_call_is_made_as_a_task_and_shows_its_state(chromium: Chromium) -> None:
    """F-SHOW-14: and cancelling the call cancels the task."""
    server = TaskServer()
    made = Reaching(server.client(protocol_version=HANDSHAKE))
    async with chromium.visit(made) as (page, _):
        await choose(page, "research")
        await page.get_by_label("as a task").check()
        await page.locator("#call").click()
        await shown(page, ".underway .tag", "task t1: working, reading")
        await page.get_by_role("button", name="Cancel").click()
        await shown(page, ".outcomes .problem", "cancelled")
        assert server.status == "cancelled"
        server.status = "completed"
        await page.locator("#call").click()
        await shown(page, ".outcomes", "done")


async def test_http_requests_have_status_and_time_and_the_configuration_is_copied(
    chromium: Chromium,
) -> None:
    endpoint = StreamableEndpoint(McpServer("both"), session="s")
    async with AsyncExitStack() as stack:
        url = str((await stack.enter_async_context(HttpServer(endpoint.routes))).url())
        client = Client(url, headers={"X-Key": "s3cret"}, protocol_version="2025-11-25")
        page, _ = await stack.enter_async_context(chromium.visit(Reaching(client)))
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        row = page.locator(".exchanges tbody tr").last
        await expect(row).to_contain_text("POST /mcp")
        await expect(row.locator("td").nth(1)).to_have_text("200")
        await expect(row.locator("td").nth(2)).to_contain_text("ms")
        await row.get_by_role("button").click()
        await shown(page, ".record", "initialize")
        await page.get_by_role("button", name="Copy configuration").click()
        await page.get_by_role("button", name="Copied").wait_for()
        copied = json.loads(await page.evaluate("navigator.clipboard.readText()"))
        (entry,) = copied["mcpServers"].values()
        assert entry["url"] == url
        assert entry["headers"] == {"X-Key": "${X_KEY}"}


async def test_a_tree_is_copied_as_json(chromium: Chromium) -> None:
    """F-SHOW-14: the active node, and the rows in a selection."""
    async with chromium.visit(Scene()) as (page, _):
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await choose(page, "picture")
        await call(page)

        async def copied() -> Any:
            await page.keyboard.press("Control+c")
            return json.loads(await page.evaluate("navigator.clipboard.readText()"))

        tree = page.get_by_label("Structured content")
        await tree.focus()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowDown")
        assert await copied() == 16
        await tree.evaluate("each => getSelection().selectAllChildren(each)")
        assert (await copied())["tags"] == ["a", "b"]
        await page.evaluate("getSelection().removeAllRanges()")
        for label in ("Copy result", "Copy arguments"):
            await page.get_by_role("button", name=label).click()
            await expect(page.get_by_role("button", name="Copied").first).to_be_visible()
            assert isinstance(
                json.loads(await page.evaluate("navigator.clipboard.readText()")), dict
            )


async def test_nothing_moves_while_counts_grow(chromium: Chromium) -> None:
    """F-SHOW-14: neither the tabs nor the filters of the wire."""

    async def places(page: Page) -> Any:
        return await page.evaluate(
            """() => [...document.querySelectorAll(".tabs button, .wirehead :is(select, input)")]
                .map((each) => { const box = each.getBoundingClientRect();
                                 return [box.x, box.y, box.width, box.height]; })"""
        )

    async with chromium.visit(Scene()) as (page, scene):
        before = await places(page)
        for _ in range(1500):
            scene.showcase.notify("notifications/message", level="info", data="tick")
        await choose(page, "picture")
        await call(page)
        await shown(page, ".lane.server .number", "1,5")
        await shown(page, "#tab-calls .number", "1")
        assert await places(page) == before


async def test_headings_are_in_order_and_forced_colors_keep_choice_and_state(
    chromium: Chromium,
) -> None:
    async with chromium.visit(Scene()) as (page, _):
        await page.emulate_media(forced_colors="active")
        await choose(page, "picture")
        dot = await page.locator(".dot").evaluate(
            "each => getComputedStyle(each).forcedColorAdjust"
        )
        assert dot == "none"
        chosen = page.locator("#list .row[aria-selected=true]")
        style = await chosen.evaluate("each => getComputedStyle(each).outlineStyle")
        assert style == "solid"
        await call(page)
        await page.locator("#wire .row.request").last.click()
        await page.locator(".record .tree").first.wait_for()
        levels = await page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))"
        )
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "dark")])
async def test_what_is_wrong_is_accessible(chromium: Chromium, width: int, scheme: str) -> None:
    """F-SHOW-14: a form that does not fit, violations, logs, a traceback, a crash."""
    async with chromium.visit(faulty(), width=width, scheme=scheme) as (page, _):
        found: list[str] = []
        for tool in ("banner", "logs", "traceback"):
            if width == 400:
                await page.locator(".views [data-view=list]").click()
            await page.locator("#search").fill(tool)
            await page.locator("#list .row .title").get_by_text(tool, exact=True).first.click()
            await page.locator("#call").click()
            await page.locator(".outcomes .state").wait_for()
        found += await axe_violations(page, "outcome")
        if width == 400:
            await page.locator(".views [data-view=wire]").click()
        for row in (".stderr", ".at-error"):
            await page.locator(f"#wire .row{row}").first.click()
            await page.locator(".record .tree").first.wait_for()
            found += await axe_violations(page, row)
        await page.locator("#faults").click()
        await page.locator("#wire .row.fault").first.click()
        await page.locator(".record .problem").wait_for()
        found += await axe_violations(page, "violation")
        assert found == []

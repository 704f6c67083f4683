"""F-SHOW-25, F-SHOW-26: requests over time, and a page that is saved as a file."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from mcpclient.cli.main import main
from tests.inspector.browser import Chromium, axe_violations, needs_axe, shown
from tests.inspector.scenes import faulty
from tests.inspector.test_browser_faults import call

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]


async def show_timeline(page: Page) -> None:
    await page.get_by_role("button", name="Timeline").click()


async def left_of(page: Page, name: str) -> float:
    row = page.locator(".bars tr", has_text=name).locator(".span")
    box = await row.bounding_box()
    assert box is not None
    return box["x"]


@needs_axe
async def test_every_request_is_a_bar_and_a_row_of_a_table(chromium: Chromium) -> None:
    """F-SHOW-25: with its state, its progress, its questions, and how long such requests took."""
    async with chromium.visit(faulty()) as (page, _):
        for tool in ("logs", "backwards", "odd_error", "url_question"):
            await call(page, tool)
            await page.locator(".outcomes .state, .outcomes .problem").first.wait_for()
        await show_timeline(page)
        rows = page.locator(".bars tbody").first.locator("tr")
        await expect(rows).to_have_count(6)
        assert await left_of(page, "initialize") < await left_of(page, "logs")
        assert await left_of(page, "logs") < await left_of(page, "odd_error")
        await expect(page.locator("tr.failed", has_text="odd_error")).to_have_count(1)
        await shown(page, ".bars tr", "reported progress 2 times")
        await shown(page, ".bars tr", "the server asked elicitation/create")
        assert await page.locator("tr", has_text="backwards").locator(".track i").count() == 2
        assert await page.locator("tr", has_text="url_question").locator(".track b").count() == 1
        await expect(page.locator(".latencies tbody tr")).to_have_count(6)
        assert await axe_violations(page, "timeline") == []
        await page.locator(".bars").get_by_role("button", name="odd_error").click()
        await shown(page, ".record .tree", "odd_error")


async def test_the_window_is_brushed_and_filters_the_records(chromium: Chromium) -> None:
    """F-SHOW-25: with the pointer, or by buttons; All shows everything again."""
    async with chromium.visit(faulty()) as (page, _):
        for tool in ("logs", "json_text"):
            await call(page, tool)
            await page.locator(".outcomes .state").wait_for()
        await show_timeline(page)
        await expect(page.locator(".zoom")).to_contain_text("4 of 4 requests")
        box = await page.locator(".axis").bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2
        await page.mouse.move(await left_of(page, "json_text") - 8, y)
        await page.mouse.down()
        await page.mouse.move(box["x"] + box["width"] + 9, y, steps=4)
        await page.mouse.up()
        await expect(page.locator(".zoom")).to_contain_text("1 of 4 requests")
        await page.get_by_role("button", name="Records").click()
        await expect(page.locator("#wire .row")).to_have_count(2)
        await show_timeline(page)
        await page.locator(".zoom").get_by_role("button", name="All").click()
        await expect(page.locator(".zoom")).to_contain_text("4 of 4 requests")
        await page.locator(".zoom").get_by_role("button", name="+").click()
        await expect(page.locator(".zoom")).not_to_contain_text("4 of 4 requests")


def recorded(path: Path, tag: str) -> str:
    """Write a recording with a call whose result has a fault, and return its name."""

    def message(time: float, direction: str, **members: Any) -> str:
        record = {"time": time, "direction": direction, "channel": "stdio"}
        return json.dumps({**record, "message": {"jsonrpc": "2.0", **members}})

    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    tool = {"name": "t", "description": tag, "inputSchema": {"type": "object"}}
    lines = [
        '{"transcript": 1, "transport": "stdio", "target": "x"}',
        message(0, "sent", id=0, method="initialize", params={"capabilities": {}}),
        message(0.1, "received", id=0, result=opening),
        message(1, "sent", id=1, method="tools/list"),
        message(1.5, "received", id=1, result={"tools": [tool]}),
        message(2, "sent", id=2, method="tools/call", params={"name": "t", "arguments": {}}),
        message(2.25, "received", id=2, result={"content": [{"type": "vidoe"}]}),
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


async def test_a_recording_is_saved_as_one_page(chromium: Chromium, tmp_path: Path) -> None:
    """F-SHOW-26: it has the same views, fetches nothing, and runs nothing of a server's."""
    hostile = "</script><script>window.hacked = 1</script><!--"
    out = tmp_path / "report.html"
    words = ["inspect", recorded(tmp_path / "s.jsonl", hostile), "--html", str(out)]
    assert await asyncio.to_thread(main, words) == 0
    assert out.stat().st_size < 400_000
    async with chromium.page(out.as_uri()) as page:
        fetched: list[str] = []
        page.on("request", lambda request: fetched.append(request.url))
        await shown(page, "#status", "recorded")
        await page.locator("#list .row").first.click()
        await shown(page, "#detail .description", hostile)
        await expect(page.locator("#faults")).to_have_text("1 violation")
        await page.locator("#faults").click()
        await page.locator("#wire .row.fault").click()
        await shown(page, ".record .faults", "'vidoe' is none of")
        await page.locator("#tab-calls").click()
        await page.locator("#list .row", has_text="tools/call").click()
        await shown(page, "#detail .faults", "'vidoe' is none of")
        await page.get_by_label("Filter the wire").fill("inputSchema")
        await show_timeline(page)
        await shown(page, ".bars tr", "250 ms")
        assert await page.evaluate("window.hacked") is None
        assert fetched == []


async def test_a_live_session_is_saved_as_a_page(chromium: Chromium, tmp_path: Path) -> None:
    """F-SHOW-26: by Export, where a narrow screen has it as well."""
    async with chromium.visit(faulty(), width=400) as (page, _):
        await call(page, "unknown_block")
        await expect(page.locator("#faults")).to_have_text("1 violation")
        await page.locator("#export summary").click()
        async with page.expect_download() as download:
            await page.locator("#report").click()
        saved = tmp_path / "page.html"
        await (await download.value).save_as(saved)
    assert re.search("<script[^>]+src=|<link", saved.read_text()) is None
    async with chromium.page(saved.as_uri()) as page:
        await shown(page, "#status", "recorded")
        await expect(page.locator("#call")).to_have_count(0)


async def test_panes_and_colors_are_a_choice_that_is_remembered(chromium: Chromium) -> None:
    """F-SHOW-10: widths by pointer and keyboard, folded or not; light, dark, or as the system."""
    async with chromium.visit(faulty()) as (page, _):

        async def width_of(pane: str) -> float:
            box = await page.locator(pane).bounding_box()
            return 0 if box is None else box["width"]

        before = await width_of("#list")
        line = page.get_by_label("Width of the list")
        await line.focus()
        await page.keyboard.press("ArrowRight")
        assert await width_of("#list") == before + 20
        await page.get_by_label("Width of the wire").dblclick()
        assert await width_of("#wire") == 0
        ground = "getComputedStyle(document.body).backgroundColor"
        light = await page.evaluate(ground)
        for _ in ("light", "dark"):
            await page.locator("#theme").click()
        assert await page.evaluate(ground) != light
        await page.reload()
        await page.locator("#list .row").first.wait_for()
        assert await width_of("#list") == before + 20
        assert await width_of("#wire") == 0
        assert await page.evaluate(ground) != light


async def test_structured_content_comes_first_and_its_text_is_folded(chromium: Chromium) -> None:
    """F-SHOW-10: and an outcome is marked once its form has changed."""
    async with chromium.visit(faulty()) as (page, _):
        await call(page, "twofold")
        await shown(page, ".outcome summary", "The same as text")
        outcome = page.locator(".outcome")
        assert (await outcome.inner_text()).startswith("Structured content")
        await expect(outcome.get_by_text('"count": 1')).to_be_hidden()
        await page.locator("#detail form").get_by_label("Timeout").fill("9")
        await expect(page.locator(".outcomes.stale")).to_have_count(1)
        await page.locator("#call").click()
        await expect(page.locator(".outcomes.stale")).to_have_count(0)

"""F-SHOW-10: the page in a real browser, in three tests: a call, the wire, a hostile server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inspector.browser import Chromium, call, choose, read, shown
from tests.inspector.scenes import Scene
from tests.inspector.showcase import ATTACKS, Showcase

pytestmark = pytest.mark.needs_browser


@pytest.mark.slow
async def test_a_form_is_filled_in_from_the_schema(chromium: Chromium) -> None:
    """F-SHOW-10: nested objects, arrays, enumerations with null, defaults, alternatives."""
    async with chromium.visit(Scene()) as (page, scene):
        await choose(page, "search_issues")
        await page.get_by_label("query").fill("leak")
        await page.get_by_label("Order order").select_option(label="null")
        await page.get_by_role("button", name="Add to labels").click()
        await page.get_by_label("labels, item 1").fill("bug")
        await page.get_by_label("pull request").check()
        await page.get_by_label("name", exact=False).last.fill("Ada")
        await page.get_by_label("Kind of when").select_option(label="last days")
        await call(page)
        assert scene.showcase.received[-1]["params"]["arguments"] == {
            "query": "leak",
            "limit": 10,
            "order": None,
            "labels": ["bug"],
            "kinds": ["pull request"],
            "author": {"name": "Ada"},
            "when": {"days": 7},
        }


@pytest.mark.slow
async def test_the_wire_is_a_timeline_to_filter_and_to_replay_from(chromium: Chromium) -> None:
    async with chromium.visit(Scene()) as (page, scene):
        await choose(page, "echo")
        await page.get_by_role("textbox", name="message").fill("over the wire")
        await call(page)
        await page.get_by_label("Filter the wire").fill("OVER THE WIRE")
        await shown(page, ".wirenote", "2 of ")
        await page.locator("#wire .row").last.click()
        await shown(page, ".record", "#")
        await page.get_by_role("button", name="Its request").click()
        await shown(page, ".record .tree", "tools/call")
        await page.get_by_role("button", name="Replay", exact=True).click()
        await shown(page, ".outcomes .state", "Done")
        calls = [each for each in scene.showcase.received if each.get("method") == "tools/call"]
        assert len(calls) == 2
        await page.locator("#wire .row.request", has_text="echo").first.click()
        await page.get_by_role("button", name="Edit and replay").click()
        assert await page.get_by_role("textbox", name="message").input_value() == "over the wire"
        await page.locator(".outcomes .state").get_by_role("button", name="Pin").click()
        await page.locator("#tab-calls").click()
        await shown(page, "#list .row", "★ echo")
        assert (await read(page, "#list .row")).startswith("★ echo")


async def test_a_hostile_server_is_text_and_nothing_else(chromium: Chromium) -> None:
    """F-SHOW-10: every string an attack; nothing runs, nothing is fetched, nothing is hidden."""
    async with chromium.visit(Scene(Showcase(hostile=True))) as (page, _):
        foreign: list[str] = []
        here = page.url.partition("/#")[0]

        def note(request: Any) -> None:
            if not request.url.startswith((here, "blob:")):
                foreign.append(request.url)

        page.on("request", note)
        for kind in ("tools", "resources", "prompts", "servers"):
            await page.locator(f"#tab-{kind}").click()
            await page.locator("#list .virtual").focus()
            for _ in ATTACKS:
                await page.keyboard.press("ArrowDown")
        await page.locator("#tab-tools").click()
        await page.locator("#list .row").first.click()
        await call(page)
        await shown(page, ".outcomes", "<svg onload=")
        text = await page.locator("body").inner_text()
        for attack in (ATTACKS[0], ATTACKS[1], "\\u202egnp.exe", "\\x1b[31mred"):
            assert attack in text
        assert "\u202e" not in text
        await page.locator("#wire .virtual").focus()
        for _ in range(12):
            await page.keyboard.press("ArrowDown")
            await page.locator(".record .tree").first.wait_for()
        assert await page.evaluate("window.hacked") is None
        assert await page.locator("#detail svg, #detail script, #wire img").count() == 0
        assert foreign == []

"""F-SHOW-14: forms are checked, nothing that was typed is lost, and what happened is in sight."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.inspector.browser import Chromium, choose, shown
from tests.inspector.scenes import Scene
from tests.inspector.showcase import Showcase

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

STRICT = {
    "type": "object",
    "required": ["who", "years"],
    "additionalProperties": False,
    "properties": {
        "who": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "years": {"type": "integer", "minimum": 18},
        "mail": {"type": "string", "format": "email"},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
        "home": {"type": "object", "properties": {"zip": {"type": "string", "pattern": "^\\d+$"}}},
        "slow": {"type": "string", "pattern": "^(a+)+$"},
    },
}


def strict() -> Scene:
    tools = [{"name": "strict", "inputSchema": STRICT}, {"name": "other", "inputSchema": STRICT}]
    return Scene(Showcase(tools=tools))


def calls_of(scene: Scene) -> list[Any]:
    return [each for each in scene.showcase.received if each.get("method") == "tools/call"]


async def lacks(page: Page, label: str) -> str:
    field = page.locator("#detail .field").filter(has=page.get_by_label(label, exact=False)).last
    return await field.locator(".lacks").last.inner_text()


async def test_a_form_is_checked_before_it_is_sent(chromium: Chromium) -> None:
    """F-SHOW-14: required, type, limits, pattern and format; each field is marked."""
    async with chromium.visit(strict()) as (page, scene):
        await choose(page, "strict")
        await page.locator("#call").click()
        await shown(page, ".lacking", "who: is required")
        assert await page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
        await page.get_by_label("who").fill("ada")
        await page.get_by_label("years").fill("seventeen")
        await page.get_by_label("mail").fill("nowhere")
        await page.get_by_role("button", name="Add to tags").click()
        await page.get_by_label("tags, item 1").fill("long")
        await page.get_by_label("zip").fill("x")
        await page.get_by_label("slow").fill("a" * 40 + "!")
        await page.locator("#call").click()
        await expect(page.locator(".lacking li")).to_have_count(6)
        text = await page.locator(".lacking").inner_text()
        for expected in (
            *(
                "who: does not match",
                "years: is not an integer",
                "mail: does not have the format email",
            ),
            *("tags[0]: 4 characters are more than 3", "home.zip: does not match"),
        ):
            assert expected in text
        assert await lacks(page, "years") == "is not an integer."
        assert await lacks(page, "zip") == "does not match the pattern '^\\\\d+$'."
        await expect(page.locator("[aria-invalid=true]")).to_have_count(6)
        assert calls_of(scene) == []
        await page.get_by_label("years").fill("17")
        await shown(page, ".lacking", "years: is less than 18")  # as it is typed
        await page.get_by_label("years").fill("18")
        await page.get_by_role("button", name="Send anyway").click()
        await page.locator(".outcomes .state").wait_for()
        assert calls_of(scene)[0]["params"]["arguments"]["who"] == "ada"
        await page.get_by_role("button", name="JSON").click()
        await page.get_by_label("Arguments as JSON").fill('{"who": "Ada", "years": 20, "extra": 1}')
        await page.locator("#call").click()
        await shown(page, ".lacking", "extra: is not allowed here")
        await page.get_by_label("Arguments as JSON").fill('{"who": "Ada", "years": 20}')
        await page.locator("#call").click()
        await shown(page, "#tab-calls .number", "2")
        assert len(calls_of(scene)) == 2


async def test_drafts_survive_another_choice_a_reload_and_back(chromium: Chromium) -> None:
    """F-SHOW-14: also one that is no JSON yet, and the timeout."""
    async with chromium.visit(strict()) as (page, _):
        await choose(page, "strict")
        await page.get_by_label("who").fill("Ada")
        await page.get_by_label("Timeout").fill("7")
        await choose(page, "other")
        assert await page.get_by_label("who").input_value() == ""
        await page.get_by_role("button", name="JSON").click()
        await page.get_by_label("Arguments as JSON").fill('{"who": ')
        await page.go_back()
        await shown(page, "#detail h2", "strict")
        await expect(page.get_by_label("who")).to_have_value("Ada")
        await page.reload()
        await shown(page, "#detail h2", "strict")
        await expect(page.get_by_label("who")).to_have_value("Ada")
        await expect(page.get_by_label("Timeout")).to_have_value("7")
        await choose(page, "other")
        await expect(page.get_by_label("Arguments as JSON")).to_have_value('{"who": ')


async def test_no_secret_is_kept_as_a_draft(chromium: Chromium) -> None:
    """F-SHOW-14, F-SAFE-6: what a schema marks is typed unseen, and forgotten by a reload."""
    secret = {"type": "object", "properties": {"pin": {"type": "string", "format": "password"}}}
    schema = {"type": "object", "properties": {"user": {"type": "string"}, "login": secret}}

    async with chromium.visit(
        Scene(Showcase(tools=[{"name": "sign_in", "inputSchema": schema}]))
    ) as (page, _):
        await choose(page, "sign_in")
        await page.get_by_label("user").fill("Ada")
        pin = page.get_by_label("pin")
        await pin.fill("s3cret")
        assert await pin.get_attribute("type") == "password"
        kept = await page.evaluate("JSON.stringify(sessionStorage)")
        assert "Ada" in kept
        await page.get_by_role("button", name="JSON").click()
        assert "s3cret" in await page.get_by_label("Arguments as JSON").input_value()
        assert "s3cret" not in kept + await page.evaluate("JSON.stringify(sessionStorage)")


async def test_the_address_names_server_tool_and_record(chromium: Chromium) -> None:
    async with chromium.visit(strict()) as (page, _):
        await choose(page, "strict")
        await page.locator("#wire .row", has_text="tools/list").first.click()
        await page.locator(".record .tree").first.wait_for()
        number = await page.locator(".record h3").inner_text()
        assert f"tools=strict&record={number[1:]}" in page.url
        assert "server=" in page.url
        await page.reload()
        await shown(page, "#detail h2", "strict")
        await shown(page, ".record h3", number)


async def test_an_answer_that_does_not_fit_stays_open(chromium: Chromium) -> None:
    """F-SHOW-14: and the text typed into it survives a reload."""
    async with chromium.visit(Scene()) as (page, _):
        await choose(page, "ask_user")
        await page.locator("#call").click()
        question = page.locator(".question")
        await question.wait_for()
        assert await page.evaluate("document.activeElement.closest('.question') !== null")
        await question.get_by_role("button", name="Answer").click()
        await shown(page, ".question .lacking", "name: is required")
        assert await question.get_by_role("button", name="Send anyway").count() == 0
        await question.get_by_label("Your name").fill("Ada")
        await page.reload()
        await expect(question.get_by_label("Your name")).to_have_value("Ada")
        await question.get_by_role("button", name="Answer").click()
        await expect(question).to_have_count(0)
        await shown(page, "#tab-calls .number", "1")


async def test_what_happened_is_in_sight(chromium: Chromium) -> None:
    """F-SHOW-14: the outcome above a long form, and the button that shows the call."""
    properties = {f"field{number}": {"type": "string"} for number in range(60)}
    tools = [{"name": "echo", "inputSchema": {"type": "object", "properties": properties}}]

    async with chromium.visit(Scene(Showcase(tools=tools))) as (page, _):
        await choose(page, "echo")
        last = page.get_by_label("field59")
        await last.scroll_into_view_if_needed()
        await last.fill("x")
        await page.keyboard.press("Control+Enter")
        await page.locator(".outcomes .state").wait_for()
        await expect(page.locator(".outcomes .state")).to_be_in_viewport()


async def test_a_question_comes_to_the_front(chromium: Chromium) -> None:
    """F-SHOW-14: on a narrow screen, too; and it is announced."""
    async with chromium.visit(Scene(), width=400) as (page, scene):
        await page.locator(".views [data-view=wire]").click()
        asking = asyncio.ensure_future(scene.client.call_tool("ask_user", {}))
        await expect(page.locator(".question")).to_be_in_viewport()
        await expect(page.locator("#news")).to_contain_text("asks: Who are you?")
        await page.get_by_role("button", name="Decline").click()
        await asking

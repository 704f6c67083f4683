"""F-SHOW-14: a server that misbehaves in many ways, each found in the page in three actions."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.inspector.browser import Chromium, shown
from tests.inspector.scenes import faulty

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]


async def call(page: Page, tool: str) -> None:
    """Look for a tool and call it."""
    await page.locator("#search").fill(tool)
    await page.locator("#list .row .title").get_by_text(tool, exact=True).first.click()
    await page.locator("#call").click()


# By tool: the fault, what its record holds, and whether it is seen after the answer only.
VIOLATIONS = {
    "banner": ("a line on stdout is not JSON-RPC", "Server started on port 3000"),
    "broken_json": ("a line on stdout is broken JSON", '"notifications/x", "params": {'),
    "not_utf8": ("a line on stdout is not JSON-RPC", "caf\\xe9 is open"),
    "other_json": ("it is not a JSON-RPC message", "ready"),
    "unknown_id": ("its id 4711 was unknown", "4711"),
    "text_id": ("was unknown", "result"),
    "twice": ("was answered before", "result"),
    "no_jsonrpc": ('it has no "jsonrpc": "2.0"', "notifications/resources/list_changed"),
    "odd_params": ("its params are not an object", "list"),
    "odd_method": ("its method is not a string", "list"),
    "null_id": ("its id is neither a string nor an integer", "roots/list"),
    "both": ("it has both result and error", "error"),
    "no_content": ("the required member 'content' is missing", "hello"),
    "odd_block": ("result.content[0]: 'hello' is not an object", "hello"),
    "odd_error": ("its error has no integer as its code", "E1"),
    "list_changed": ("needs the capability prompts.listChanged", "prompts/list_changed"),
    "updated": ("needs the capability resources.subscribe", "resources/updated"),
    "unknown_token": ("belongs to no pending request", "nobody's"),
    "backwards": ("the progress 1 does not exceed 2", "progress: 1"),
    "odd_level": ("params.level: 'loud' is not one of", "loud"),
    "odd_question": ("servers send no request 'tools/call'", "q1"),
    "nested_form": ("properties.place.type: 'object' is none of", "place"),
    "odd_form": ("properties.place.type: 'strnig' is none of", "strnig"),
    "url_question": ("the required member 'elicitationId' is missing", "url"),
    "odd_sampling": ("the required member 'maxTokens' is missing", "q4"),
    "string_content": ("result.content: 'hello' is not an array", "hello"),
    "unknown_block": ("result.content[0].type: 'vidoe' is none of 'text'", "vidoe"),
    "no_mime_type": ("result.content[0]: the required member 'mimeType' is missing", "content"),
    "not_base64": ("result.content[0].data: 'no!' does not have the format byte", "no!"),
    "odd_resource": ("result.content[0].resource: an object matches none of", "content"),
    "odd_link": ("result.content[0]: the required member 'uri' is missing", "content"),
    "odd_priority": ("annotations.priority: 'high' is not a number", "high"),
    "is_error_yes": ("result.isError: 'yes' is not a boolean", "yes"),
    "structured_list": ("result.structuredContent: an array of 1 item is not", "structured"),
    "not_structured": ("the result has no structuredContent", "content"),
    "breaks_schema": ("result.structuredContent.count: 'many' is not an integer", "many"),
}


@pytest.mark.parametrize("part", range(4))  # a busy machine takes a minute for a few of them
async def test_a_violation_is_told_at_the_result_on_the_wire_and_in_the_counter(
    chromium: Chromium, part: int
) -> None:
    """F-SHOW-14, F-SHOW-24: 36 bugs, each with the bytes that were sent."""
    count = 0
    async with chromium.visit(faulty()) as (page, _):
        await expect(page.locator("#faults")).to_be_hidden()
        for tool, (fault, content) in [*VIOLATIONS.items()][part::4]:
            await call(page, tool)
            await shown(page, ".outcomes .faults", fault)
            verdict = await page.locator(".outcomes .state").inner_text()
            found = int(verdict.split(", ")[1].split()[0])
            count += found
            counter = "1 violation" if count == 1 else f"{count} violations"
            await expect(page.locator("#faults")).to_have_text(counter)
            if found > 1:
                continue
            await page.locator("#faults").click()
            await page.keyboard.press("End")
            await page.locator("#wire .row.fault", has_text=fault).last.click()
            await shown(page, ".record .faults", fault)
            assert content in await page.locator(".record").inner_text(), tool
            await page.get_by_role("button", name="Close the record").click()


async def test_the_listing_is_found_to_be_odd(chromium: Chromium) -> None:
    """F-SHOW-14, F-SHOW-24: in the catalog, and at the entry."""
    expected = {
        "bad_schema": "inputSchema: is not a usable JSON Schema",
        "no_schema": "the required member 'inputSchema' is missing",
        "bad name": "must be 1 to 128 letters",
        "(entry": "the required member 'name' is missing",
    }

    async with chromium.visit(faulty("--malformed")) as (page, _):
        await shown(page, "#list .notes", "5 of the tools violate the protocol")
        await expect(page.locator("#faults")).to_have_text("6 violations")
        for name, text in expected.items():
            await page.locator("#search").fill(name)
            await page.locator("#list .row.odd", has_text=name).click()
            await shown(page, "#detail .faults", text)
        await page.locator("#search").fill("banner")
        await shown(page, "#list .row.odd", "another entry has it as well")


async def test_numbers_that_are_not_json_are_shown_and_break_nothing(chromium: Chromium) -> None:
    """F-SHOW-14: in capabilities, in a default, in a result and on the wire."""
    async with chromium.visit(faulty("--malformed")) as (page, _):
        await shown(page, "#detail .tree", "NaN")  # the server's capabilities
        await page.locator("#search").fill("infinite")
        await page.locator("#list .row", has_text="infinite_default").click()
        await expect(page.get_by_label("most")).to_have_value("Infinity")
        await call(page, "nan")
        await shown(page, ".outcomes .tree", "ratio: NaN")
        await shown(page, ".outcomes .tree", "most: Infinity")
        await page.locator("#wire .row.answer", has_text="tools/call").click()
        await shown(page, ".record .tree", "ratio: NaN")


async def test_text_that_is_json_is_indented(chromium: Chromium) -> None:
    async with chromium.visit(faulty()) as (page, _):
        await call(page, "json_text")
        text = page.locator(".outcomes .json pre")
        await expect(text).to_have_text('{\n  "a": {\n    "b": [\n      1,\n      2\n    ]\n  }\n}')
        await page.get_by_role("button", name="As it came").click()
        await expect(text).to_have_text('{"a":{"b":[1,2]}}')


async def test_logs_have_text_and_level_and_are_filtered_by_it(chromium: Chromium) -> None:
    async with chromium.visit(faulty()) as (page, _):
        await call(page, "logs")
        row = page.locator("#wire .row.at-error")
        await expect(row).to_contain_text("the disk   is full")
        await expect(row.locator(".badge")).to_have_text("error")
        await page.get_by_label("Kind of records").select_option("Logs from warning")
        await expect(page.locator("#wire .row")).to_have_count(1)
        await row.click()
        assert await page.locator(".record .logged .pre").inner_text() == "the disk\n  is full"
        await page.locator("#tab-servers").click()
        await page.get_by_label("Level", exact=True).select_option("warning")
        await shown(page, "#detail [role=status]", "logs from warning on")


async def test_a_traceback_is_one_block_with_its_white_space(chromium: Chromium) -> None:
    async with chromium.visit(faulty()) as (page, _):
        await call(page, "traceback")
        await page.locator("#wire .row.stderr", has_text="KeyError").click()
        block = page.locator(".record pre.stderr")
        await expect(block).to_contain_text("Traceback")
        text = await block.inner_text()
        assert '  File "server.py", line 3, in call\n    return table[name]' in text
        assert await block.locator("mark").inner_text() == "KeyError: 'name'"
        family = await page.locator("#wire .row.stderr .about").first.evaluate(
            "each => getComputedStyle(each).fontFamily + getComputedStyle(each).whiteSpace"
        )
        assert "mono" in family.lower()
        assert family.endswith("pre")


async def test_a_crash_is_told_with_exit_code_and_last_lines(chromium: Chromium) -> None:
    """F-SHOW-14: in the head, where the call was made, and in the overview."""
    async with chromium.visit(faulty()) as (page, _):
        await call(page, "crash")
        await shown(page, "#status", "ended with exit code 3")
        await shown(page, ".outcomes .problem", "Exit code: 3")
        await shown(page, ".outcomes .hint", "as env of its configuration")
        await page.get_by_role("button", name="Restart and call again").click()
        await expect(page.locator("#wire .row.request", has_text="initialize")).to_have_count(2)
        await shown(page, ".outcomes .problem", "Exit code: 3")
        await page.get_by_role("button", name="Restart", exact=True).click()
        await shown(page, "#status", "connected")
        await call(page, "crash")
        await shown(page, "#status", "ended with exit code 3")
        await page.locator("#tab-servers").click()
        problem = page.locator("#detail > .problem")
        await expect(problem).to_contain_text("Exit code: 3")
        assert "    return table[name]" in await problem.locator("pre").inner_text()
        await page.get_by_role("button", name="Connect", exact=True).click()
        await shown(page, "#status", "connected")


async def test_a_server_that_never_answers_can_be_given_up(chromium: Chromium) -> None:
    async with chromium.visit(faulty("--never-opens"), ready="#detail h2") as (page, _):
        await shown(page, "#status", "connecting")
        await page.locator("#detail").get_by_role("button", name="Stop connecting").click()
        await shown(page, "#status", "not connected")
        await page.get_by_role("button", name="Connect", exact=True).wait_for()


async def test_from_request_to_response_and_back(chromium: Chromium) -> None:
    """F-SHOW-14: also where a filter hides the other one."""
    async with chromium.visit(faulty()) as (page, _):
        await call(page, "odd_error")
        await page.locator(".outcomes .state").wait_for()
        await page.get_by_label("Method").select_option("tools/call")
        await expect(page.locator("#wire .row")).to_have_count(2)
        await page.locator("#wire .row.request").click()
        await page.get_by_role("button", name="Its response").click()
        await shown(page, ".record .tree", "E1")
        await page.get_by_role("button", name="Its request").click()
        await shown(page, ".record .tree", "odd_error")
        await page.get_by_label("Kind of records").select_option("Errors")
        await expect(page.locator("#wire .row")).to_have_count(1)


async def test_the_wire_is_cleared_and_dated(chromium: Chromium) -> None:
    async with chromium.visit(faulty()) as (page, _):
        time = page.locator("#wire .row .time").first
        await expect(time).to_have_text(re.compile(r"^\d\.\d{3}$"))
        await page.get_by_role("button", name="Clock").click()
        await expect(time).to_have_text(re.compile(r"^\d\d:\d\d:\d\d\.\d{3}$"))
        await page.get_by_role("button", name="Clear").click()
        await expect(page.locator("#wire .row")).to_have_count(0)
        await call(page, "logs")
        await expect(page.locator("#wire .row.request")).to_have_count(1)
        await page.get_by_role("button", name="Show them").click()
        await shown(page, "#wire .row", "initialize")


async def test_an_error_in_the_page_is_told_and_leaves_the_rest(chromium: Chromium) -> None:
    """F-SHOW-14: whatever fails to be drawn, the page is never blank."""
    async with chromium.visit(faulty(), tolerated="made by the test") as (page, _):
        await page.evaluate("setTimeout(() => { throw new Error('made by the test'); })")
        await shown(page, "#broken", "made by the test")
        await call(page, "logs")
        await page.locator(".outcomes .state").wait_for()


async def test_the_end_of_the_program_is_a_state(chromium: Chromium) -> None:
    async with chromium.visit(faulty(), tolerated="Failed to load resource") as (page, scene):
        await scene.inspector.close()
        await shown(page, "#status", "the program of this page has ended")
        await shown(page, "#gone", "no longer responds")
        await shown(page, "#detail", "the program of this page has ended")

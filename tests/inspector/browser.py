"""A real browser for tests: Chromium, where this machine has one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from playwright.async_api import Page, async_playwright

from conformance.peers import node_module
from tests.inspector.scenes import Scene
from tests.support.needs import chromium

_AXE = node_module("axe-core/axe.min.js", "node-axe")
needs_axe = pytest.mark.skipif(
    not _AXE.exists(), reason="no axe-core: python -m conformance.peers install node-axe"
)

SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

_T = TypeVar("_T")
AnyScene = TypeVar("AnyScene", bound=Scene)


class Chromium:
    """One browser for many tests, in an event loop that lasts as long as it does."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._run(self._start())

    def _run(self, work: Awaitable[_T]) -> _T:
        return self._loop.run_until_complete(asyncio.wait_for(work, 60))

    async def _start(self) -> None:
        self._playwright = await async_playwright().start()
        self._browser = await self._playwright.chromium.launch(
            executable_path=chromium(), args=SWITCHES
        )

    def close(self) -> None:
        """End the browser."""
        self._run(self._stop())
        self._run(asyncio.sleep(0.05))  # the driver's pipes are closed in turns of their own
        self._loop.close()

    async def _stop(self) -> None:
        await self._browser.close()
        await self._playwright.stop()

    def run(self, work: Awaitable[None]) -> None:
        """Run a test in the loop of the browser; the threads of the test end with it."""
        with ThreadPoolExecutor() as executor:
            self._loop.set_default_executor(executor)
            self._run(work)

    @asynccontextmanager
    async def visit(self, scene: AnyScene, **options: Any) -> AsyncIterator[tuple[Page, AnyScene]]:
        """Open the page of a scene, with the options of `page`."""
        async with scene, self.page(scene.url, **options) as page:
            yield page, scene

    @asynccontextmanager
    async def page(
        self,
        url: str,
        *,
        width: int = 1280,
        scheme: Any = "light",
        ready: str = "#list .row",
        tolerated: str = "\0",
    ) -> AsyncIterator[Page]:
        """Open the page of an inspector, which must not report an error in the meantime.

        ``ready``: what is there when it is. ``tolerated``: a part of the errors that it may report.
        """
        problems: list[str] = []
        page = await self._browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme=scheme
        )
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text))
        page.on("dialog", lambda dialog: problems.append(f"dialog {dialog.message}"))
        await page.goto(url)
        await page.locator(ready).first.wait_for()
        yield page
        await page.context.close()
        assert [each for each in problems if tolerated not in each] == []


async def read(page: Page, selector: str) -> str:
    """Return the text of the first element that fits, once it is there."""
    return await page.locator(selector).first.inner_text()


async def shown(page: Page, selector: str, text: str) -> None:
    """Wait until an element has this text."""
    await page.locator(selector).filter(has_text=text).first.wait_for()


async def choose(page: Page, name: str) -> None:
    """Choose an offer by its name."""
    await page.locator("#list .row .title").get_by_text(name, exact=True).click()
    await page.locator("#detail h2").get_by_text(name, exact=True).wait_for()


async def call(page: Page) -> None:
    await page.locator("#call").click()
    await page.locator(".outcomes .state").wait_for()


async def axe_violations(page: Page, place: str) -> list[str]:
    """Return what axe-core finds wrong with the page as it is; ``place``: its name for that."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE.read_text("utf-8"))
    found = []
    for violation in (await page.evaluate("axe.run()"))["violations"]:
        nodes = [node["html"][:150] for node in violation["nodes"][:3]]
        found.append(f"{place}: {violation['id']} {nodes}")
    return found

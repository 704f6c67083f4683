"""A real browser for tests: Chromium, where this machine has one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, TypeVar

import pytest
from playwright.async_api import Page, async_playwright

from conformance.peers import node_module
from tests.inspector.scenes import Scene
from tests.support.needs import chromium

__all__ = ["SWITCHES", "Chromium", "axe_violations", "needs_axe", "read", "shown"]

_AXE = node_module("axe-core/axe.min.js", "node-axe")
needs_axe = pytest.mark.skipif(
    not _AXE.exists(), reason="no axe-core: python -m conformance.peers install node-axe"
)

SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

_T = TypeVar("_T")
Work = Callable[[Page, Scene], Awaitable[None]]


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

    def visit(
        self,
        scene: Scene,
        work: Work,
        *,
        width: int = 1280,
        scheme: Any = "light",
        ready: str = "#list .row",
        tolerated: str = "\0",
    ) -> None:
        """Open the page of an inspector and do something there; it must not report an error.

        ``ready``: what is there when it is. ``tolerated``: a part of the errors that it may report.
        """
        with ThreadPoolExecutor() as executor:  # so that each test's threads end with it
            self._loop.set_default_executor(executor)
            problems = self._visit(scene, work, width, scheme, ready)
            found = [each for each in self._run(problems) if tolerated not in each]
            assert found == [], found

    async def _visit(
        self, scene: Scene, work: Work, width: int, scheme: Any, ready: str
    ) -> list[str]:
        problems: list[str] = []
        async with scene:
            page = await self._browser.new_page(
                viewport={"width": width, "height": 800}, color_scheme=scheme
            )
            page.set_default_timeout(30_000)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda said: problems.append(said.text))
            page.on("dialog", lambda dialog: problems.append(f"dialog {dialog.message}"))
            await page.goto(scene.url)
            await page.locator(ready).first.wait_for()
            await work(page, scene)
            await page.context.close()
        return problems


async def read(page: Page, selector: str) -> str:
    """Return the text of the first element that fits, once it is there."""
    return await page.locator(selector).first.inner_text()


async def shown(page: Page, selector: str, text: str) -> None:
    """Wait until an element has a text."""
    await page.locator(selector).filter(has_text=text).first.wait_for()


async def axe_violations(page: Page, place: str) -> list[str]:
    """Return what axe-core finds wrong with the page as it is; ``place``: its name for that."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE.read_text("utf-8"))
    found = []
    for violation in (await page.evaluate("axe.run()"))["violations"]:
        nodes = [node["html"][:150] for node in violation["nodes"][:3]]
        found.append(f"{place}: {violation['id']} {nodes}")
    return found

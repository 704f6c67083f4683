"""This inspector and the official one, measured with the same server and the same browser.

    npm install --prefix FOLDER @modelcontextprotocol/inspector node@22
    python -m tests.inspector.side_by_side [FOLDER] [--count 100000]

Prints one table. Without FOLDER, this one alone. Needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Union

from playwright.async_api import Error, Page, async_playwright

from tests.inspector.browser import SWITCHES
from tests.inspector.loaded_server import odd_tools
from tests.support.needs import chromium

TOP = Path(__file__).parents[2]
SERVER = [sys.executable, str(Path(__file__).parent / "loaded_server.py")]
SECRET = "secret-of-the-environment"
VARIABLE = f"API_KEY={SECRET}"
PATIENCE = 180_000  # milliseconds
MOST_TABS = 100

# Notes the longest time between two frames.
WATCH_FRAMES = """
() => {
  window.longestFrame = 0;
  let before = performance.now();
  const frame = (now) => {
    window.longestFrame = Math.max(window.longestFrame, now - before);
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
"""
COUNT_ELEMENTS = "document.querySelectorAll('*').length"

Figures = dict[str, Union[str, int, float, bool]]


class Ours:
    """`mcpclient inspect`."""

    name = "mcpclient inspect"
    call = "#call"
    count = "#detail form input"
    offers = "#list .virtual"

    def size(self) -> str:
        files = [path for path in (TOP / "mcpclient").rglob("*") if path.suffix in SOURCES]
        return _size(files)

    def command(self, server: list[str]) -> list[str]:
        inspect = [sys.executable, "-m", "mcpclient", "inspect", "--no-browser"]
        return [*inspect, "--env", VARIABLE, "--", *server]

    async def address(self, process: asyncio.subprocess.Process, port: int) -> str:
        assert process.stdout is not None
        return (await process.stdout.readline()).decode().strip()

    async def open_tools(self, page: Page) -> None:
        """The tools are there by themselves."""

    async def choose(self, page: Page, tool: str) -> None:
        await page.locator("#search").fill(tool)
        await page.locator("#list .row .title").get_by_text(tool, exact=True).click()

    async def done(self, page: Page) -> None:
        await page.locator(".outcomes .state").wait_for(timeout=PATIENCE)


class Official:
    """The official Inspector, installed in a folder."""

    name = "official Inspector"
    call = "button:has-text('Execute Tool')"
    count = "input[inputmode=numeric], input[inputmode=decimal], input[type=number]"
    offers = "button:has-text('echo')"

    def __init__(self, folder: Path) -> None:
        self._modules = folder / "node_modules"

    def size(self) -> str:
        own = [path for path in self._modules.iterdir() if path.name != "node"]
        return _size([file for path in own for file in path.rglob("*") if file.is_file()])

    def command(self, server: list[str]) -> list[str]:
        node = self._modules / "node" / "bin" / "node"
        package = self._modules / "@modelcontextprotocol" / "inspector"
        launcher = package / "clients" / "launcher" / "build" / "index.js"
        return [str(node), str(launcher), "--web", "-e", VARIABLE, "--", *server]

    async def address(self, process: asyncio.subprocess.Process, port: int) -> str:
        while process.returncode is None:
            try:
                (await asyncio.open_connection("127.0.0.1", port))[1].close()
                return f"http://127.0.0.1:{port}/"
            except OSError:
                await asyncio.sleep(0.05)
        raise RuntimeError("it did not start")

    async def open_tools(self, page: Page) -> None:
        await page.get_by_role("switch").first.click(force=True)
        await page.get_by_text("Tools", exact=True).first.click(timeout=PATIENCE)

    async def choose(self, page: Page, tool: str) -> None:
        await page.get_by_role("button", name=tool, exact=True).first.click()

    async def done(self, page: Page) -> None:
        await page.get_by_text('"count"').first.wait_for(timeout=PATIENCE)


SOURCES = (".py", ".pyi", ".md", ".js", ".css", ".html", ".typed")


def _size(files: list[Path]) -> str:
    total = sum(path.lstat().st_size for path in files)
    return f"{total / 1e6:.1f} MB, {len(files):,} files"


class Sight:
    """A page of an inspector, and what it has loaded."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.bytes = self.requests = 0
        self.foreign: set[str] = set()
        self.errors: list[str] = []
        self.told_secret = False
        self._waiting: set[asyncio.Task[None]] = set()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("response", self._note)

    def _note(self, response: Any) -> None:
        if not response.url.startswith(
            ("http://127.0.0.1:", "http://localhost:", "blob:", "data:")
        ):
            self.foreign.add(response.url)
        task = asyncio.ensure_future(self._read(response))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _read(self, response: Any) -> None:
        with suppress(Error):  # a stream, or gone
            if SECRET in (await response.body()).decode("utf-8", "replace"):
                self.told_secret = True

    async def has_told_secret(self) -> bool:
        """Whether a value of a variable was in a response; streams are not waited for."""
        await asyncio.wait(self._waiting, timeout=5)
        return self.told_secret

    async def count_bytes(self) -> None:
        session = await self.page.context.new_cdp_session(self.page)
        await session.send("Network.enable")

        def finished(event: Any) -> None:
            self.bytes += int(event["encodedDataLength"])
            self.requests += 1

        session.on("Network.loadingFinished", finished)

    async def heap(self) -> float:
        """MiB of the page's JavaScript, what is not needed any more left out."""
        session = await self.page.context.new_cdp_session(self.page)
        await session.send("HeapProfiler.collectGarbage")
        usage = await session.send("Runtime.getHeapUsage")
        return float(usage["usedSize"]) / 2**20


@asynccontextmanager
async def opened(inspector: Any, *arguments: str) -> AsyncIterator[tuple[Sight, str]]:
    """Start an inspector over the server with these arguments, and a browser before it."""
    with socket.socket() as taken, tempfile.TemporaryDirectory() as home:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.close()
        own = {"HOME": home, "CLIENT_PORT": str(port), "MCP_SANDBOX_PORT": "0"}
        process = await asyncio.create_subprocess_exec(
            *inspector.command([*SERVER, *arguments]),
            cwd=TOP,
            env={**os.environ, **own, "HOST": "127.0.0.1", "MCP_AUTO_OPEN_ENABLED": "false"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            address = await inspector.address(process, port)
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=chromium(), args=SWITCHES
                )
                page = await browser.new_page(viewport={"width": 1280, "height": 800})
                yield Sight(page), address
                await browser.close()
        finally:
            process.terminate()
            await process.communicate()


async def seen(inspector: Any, sight: Sight, address: str, tool: str = "echo") -> float:
    """Go there; return the seconds until a tool is visible."""
    began = time.monotonic()
    await sight.page.goto(address)
    await inspector.open_tools(sight.page)
    await sight.page.get_by_text(tool, exact=True).first.wait_for(timeout=PATIENCE)
    return time.monotonic() - began


async def first_load(inspector: Any) -> Figures:
    async with opened(inspector) as (sight, address):
        shell, policy = await asyncio.to_thread(first_page, address.partition("#")[0])
        await sight.count_bytes()
        seconds = await seen(inspector, sight, address)
        size, requests = sight.bytes, sight.requests
        told = await sight.has_told_secret()
        await inspector.choose(sight.page, "echo")
        tabs = await tabs_to_call(inspector, sight.page)
        await sight.page.set_viewport_size({"width": 400, "height": 800})
        await sight.page.wait_for_timeout(500)
        width = await sight.page.evaluate("document.documentElement.scrollWidth")
        return {
            "installed": inspector.size(),
            "first load": f"{size / 1000:,.0f} kB in {requests} requests",
            "tools are visible after": f"{seconds:.1f} s",
            "asked of other hosts": ", ".join(sorted(sight.foreign)) or "nothing",
            "value of a variable reaches the page": told,
            "first page gives a token to anybody": bool(
                re.search(r"TOKEN[\W_]{1,12}\w{32}", shell)
            ),
            "Content-Security-Policy": policy,
            "tabs from the tool to its call button": tabs,
            "width on a screen of 400 px": f"{width} px",
        }


def first_page(address: str) -> tuple[str, bool]:
    """Return what anybody on this machine gets, and whether it says what the page may do."""
    with urllib.request.urlopen(address) as response:
        return response.read().decode(), "Content-Security-Policy" in response.headers


async def tabs_to_call(inspector: Any, page: Page) -> str:
    await page.locator(inspector.offers).first.focus()
    button = await page.locator(inspector.call).first.element_handle()
    for count in range(1, MOST_TABS + 1):
        await page.keyboard.press("Tab")
        if await page.evaluate("button => document.activeElement === button", button):
            return str(count)
    return f"not within {MOST_TABS}"


async def many_tools(inspector: Any) -> Figures:
    async with opened(inspector, "--tools", "5000") as (sight, address):
        seconds = await seen(inspector, sight, address)
        elements = await sight.page.evaluate(COUNT_ELEMENTS)
        return {"5,000 tools": f"{seconds:.1f} s, {elements:,} elements"}


async def many_notifications(count: int, inspector: Any) -> Figures:
    async with opened(inspector) as (sight, address):
        await seen(inspector, sight, address)
        await inspector.choose(sight.page, "flood")
        await sight.page.locator(inspector.count).first.fill(str(count))
        await sight.page.evaluate(WATCH_FRAMES)
        began = time.monotonic()
        # In a turn of its own: a page that freezes does not say that it was clicked.
        await sight.page.locator(inspector.call).first.evaluate(
            "each => void setTimeout(() => each.click())"
        )
        try:
            await inspector.done(sight.page)
            ended = f"{time.monotonic() - began:.1f} s"
        except Error:
            ended = f"not within {PATIENCE // 1000} s"
        try:
            milliseconds = await asyncio.wait_for(
                sight.page.evaluate("longestFrame"), PATIENCE / 1e3
            )
            frame, heap = f"{milliseconds:,.0f} ms", f"{await sight.heap():.0f} MiB"
        except (Error, asyncio.TimeoutError):
            frame = heap = "not told: the page does not answer"
        return {
            f"{count:,} notifications": ended,
            "longest frame meanwhile": frame,
            "JavaScript heap afterwards": heap,
        }


async def oddities(inspector: Any) -> Figures:
    white: list[str] = []
    errors = 0
    hacked = False
    for tool in odd_tools():
        async with opened(inspector, "--odd") as (sight, address):
            try:
                await seen(inspector, sight, address)
                await asyncio.wait_for(inspector.choose(sight.page, tool["name"]), 60)
                await sight.page.wait_for_timeout(1000)
                text = await asyncio.wait_for(sight.page.locator("body").inner_text(), 60)
                hacked |= await sight.page.evaluate("window.hacked") is not None
            except (Error, asyncio.TimeoutError):
                text = ""
            if len(text.strip()) < 100:
                white.append(tool["name"])
            errors += len(sight.errors)
    return {
        "odd tools that leave no page": ", ".join(white) or "none",
        "errors in the page over them": errors,
        "text of a server was run": hacked,
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    inspectors: list[Any] = [Ours()]
    if options.folder is not None:
        inspectors.append(Official(options.folder))
    columns: list[Figures] = []
    for inspector in inspectors:
        figures: Figures = {}
        for measure in (
            first_load,
            many_tools,
            partial(many_notifications, options.count),
            oddities,
        ):
            try:
                figures.update(await measure(inspector))
            except Error as error:
                print(f"{inspector.name}: {error}", file=sys.stderr)
        columns.append(figures)
    print("| |", " | ".join(inspector.name for inspector in inspectors), "|")
    print("|---" * (len(inspectors) + 1) + "|")
    for name in columns[0]:
        print(
            f"| {name} |",
            " | ".join(_shown(column.get(name, "not measured")) for column in columns),
            "|",
        )


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    asyncio.run(main())

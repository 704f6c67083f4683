"""F-SHOW-14, F-SAFE-5: servers of a project are agreed to in the page, or not started."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from mcpclient import Manager, UsageError
from mcpclient.gate.gate import Approvals
from mcpclient.gate.load import load_config
from mcpclient.inspector.inspector import Inspector
from mcpclient.inspector.servers import ManagerSource, Source
from tests.inspector.browser import Chromium, shown
from tests.support.virtual_time import run

pytestmark = pytest.mark.slow

needs_browser = pytest.mark.needs_browser

DEMO = str(Path(__file__).parents[2] / "mcpclient" / "testing" / "demo_server.py")


class Project:
    """A project with a server in its file, as ``mcpclient inspect`` opens it there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / ".mcp.json"
        self.store = folder / "approvals.json"
        self.write(sys.executable)

    def write(self, command: str) -> None:
        entry = {"command": command, "args": [DEMO], "env": {"MODE": "${MODE:-plain}"}}
        self.file.write_text(json.dumps({"mcpServers": {"demo": entry}}))

    def manager(self) -> Manager:
        approvals = Approvals(store=self.store)
        config = load_config(start=self.folder, scopes=("project",), approvals=approvals, env={})
        return Manager(config, wait="none")

    @asynccontextmanager
    async def page(self, chromium: Chromium) -> AsyncIterator[Page]:
        """The page of an inspector over it, with the sheet to agree to."""
        async with self.manager() as manager:
            source = ManagerSource(manager, Approvals(store=self.store))
            async with (
                Inspector(source) as seen,
                chromium.page(seen.url, ready=".approval .sheet") as page,
            ):
                yield page


@needs_browser
async def test_a_projects_server_is_approved_in_the_page(
    chromium: Chromium, tmp_path: Path
) -> None:
    """F-SHOW-14, F-SAFE-5: the sheet first, then the decision; nothing starts before."""
    project = Project(tmp_path)
    async with project.page(chromium) as page:
        await shown(page, "#status", "needs approval")
        sheet = page.locator(".approval")
        await expect(sheet).to_contain_text(DEMO)
        await expect(sheet).not_to_contain_text("${MODE:-plain}")
        await sheet.get_by_role("button", name="Show").click()
        await expect(sheet).to_contain_text("${MODE:-plain}")
        await expect(sheet).to_contain_text(str(project.file))
        await page.get_by_role("button", name="Do not start it").click()
        await shown(page, ".approval", "Nothing is started")
        assert not project.store.exists()
        await page.get_by_role("button", name="Agree and connect").click()
        await shown(page, "#status", "connected")
        await page.locator("#list .row").first.wait_for()
        assert len(json.loads(project.store.read_text())["approved"]) == 1


@needs_browser
async def test_an_entry_that_changed_meanwhile_is_not_started(
    chromium: Chromium, tmp_path: Path
) -> None:
    """F-SHOW-14, F-SAFE-5: an agreement covers the sheet that was shown."""
    project = Project(tmp_path)
    async with project.page(chromium) as page:
        project.write("/bin/false")
        await page.get_by_role("button", name="Agree and connect").click()
        await shown(page, ".approval", "/bin/false")
        await shown(page, "#status", "needs approval")


def test_only_the_sheet_that_was_shown_is_approved_and_only_where_the_page_may(
    tmp_path: Path,
) -> None:
    """F-SHOW-14, F-SAFE-5: a program that asks itself is not overruled."""

    async def main() -> None:
        project = Project(tmp_path)
        async with project.manager() as manager:
            attached = ManagerSource(manager)
            digest = attached.sheet("demo").digest()
            with pytest.raises(UsageError, match="asks for approval itself"):
                await attached.approve("demo", digest)
            own = ManagerSource(manager, Approvals(store=project.store))
            with pytest.raises(UsageError, match="has changed"):
                await own.approve("demo", "0" * 64)
            with pytest.raises(UsageError, match="does not wait"):
                own.sheet("other")
            assert not project.store.exists()

    run(main())
    with pytest.raises(UsageError, match="needs approval"):
        run(Source().approve("demo", ""))

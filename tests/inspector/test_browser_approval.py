"""F-SHOW-14, F-SAFE-5: servers of a project are agreed to in the page, or not started."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from mcpclient import Manager, UsageError
from mcpclient.gate.gate import Approvals
from mcpclient.gate.load import load_config
from mcpclient.inspector.board import Board, Questions
from mcpclient.inspector.inspector import Inspector
from mcpclient.inspector.servers import ManagerSource, Source
from tests.inspector.browser import Chromium, shown
from tests.inspector.scenes import Scene
from tests.support.virtual_time import run

needs_browser = pytest.mark.needs_browser

DEMO = str(Path(__file__).parents[2] / "mcpclient" / "testing" / "demo_server.py")


class Project(Scene):
    """A project with a server in its file, as ``mcpclient inspect`` opens it there."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
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

    async def __aenter__(self) -> Scene:
        self.managed = self.manager()
        await self.managed.__aenter__()
        source = ManagerSource(self.managed, Approvals(store=self.store))
        self.inspector = Inspector(source, questions=Questions(Board()))
        self.inspector.room.observe()
        await self.inspector.open()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.inspector.close()
        await self.managed.__aexit__(None, None, None)


@needs_browser
def test_a_projects_server_is_approved_in_the_page(chromium: Chromium, tmp_path: Path) -> None:
    """F-SHOW-14, F-SAFE-5: the sheet first, then the decision; nothing starts before."""

    async def work(page: Page, scene: Scene) -> None:
        assert isinstance(scene, Project)
        await shown(page, "#status", "needs approval")
        sheet = page.locator(".approval")
        await expect(sheet).to_contain_text(DEMO)
        await expect(sheet).to_contain_text("${MODE:-plain}")
        await expect(sheet).to_contain_text(str(scene.file))
        await page.get_by_role("button", name="Do not start it").click()
        await shown(page, ".approval", "Nothing is started")
        assert not scene.store.exists()
        await page.get_by_role("button", name="Agree and connect").click()
        await shown(page, "#status", "connected")
        await page.locator("#list .row").first.wait_for()
        assert len(json.loads(scene.store.read_text())["approved"]) == 1

    chromium.visit(Project(tmp_path), work, ready=".approval .sheet")


@needs_browser
def test_an_entry_that_changed_meanwhile_is_not_started(chromium: Chromium, tmp_path: Path) -> None:
    """F-SHOW-14, F-SAFE-5: what is agreed to is what was shown."""

    async def work(page: Page, scene: Scene) -> None:
        assert isinstance(scene, Project)
        scene.write("/bin/false")
        await page.get_by_role("button", name="Agree and connect").click()
        await shown(page, ".approval", "/bin/false")
        await shown(page, "#status", "needs approval")

    chromium.visit(Project(tmp_path), work, ready=".approval .sheet")


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

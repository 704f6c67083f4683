"""A browser for the tests of the page: found, installed, or said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.peers.install import CannotInstall
from tests.tools import browser

pytestmark = pytest.mark.needs_posix


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have an empty PATH, and nothing installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tests.support.needs.INSTALLED_CHROMIUM", tmp_path / "none" / "chromium")
    monkeypatch.setattr(browser, "install", lambda name: True)


def chromium_in(folder: Path) -> Path:
    path = folder / "chromium"
    path.write_text("#!/bin/sh\necho Chromium 1.2.3\n")
    path.chmod(0o755)
    return path


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    assert browser.main() == 0
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("has_browser", [True, False])
def test_what_cannot_be_had_is_said_aloud(
    has_browser: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def install(name: str) -> bool:
        raise CannotInstall("npm (Node.js) is not on PATH")

    monkeypatch.setattr(browser, "install", install)
    if has_browser:
        chromium_in(tmp_path)
    said = last_line(capsys)
    assert said.startswith("the page is tested by " if has_browser else "THE PAGE IS NOT TESTED: ")
    assert ("BUT NOT FOR ACCESSIBILITY" in said) == has_browser
    assert said.endswith(": npm (Node.js) is not on PATH")

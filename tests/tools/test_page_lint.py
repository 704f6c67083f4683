"""What checks the JavaScript of the inspector's page, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import peers
from conformance.peers.install import CannotInstall, node_and_npm
from tests.tools import page_contract, page_lint

needs_tools = pytest.mark.skipif(
    not peers.is_installed("node-page"), reason="python -m conformance.peers install node-page"
)


def test_without_node_it_says_aloud_that_nothing_was_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def install(environment: str) -> bool:
        raise CannotInstall("npm (Node.js) is not on PATH")

    monkeypatch.setattr(page_lint, "install", install)
    assert page_lint.main([]) == 0
    assert capsys.readouterr().out.startswith("THE PAGE'S JAVASCRIPT IS NOT CHECKED: npm")


@needs_tools
@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("export function f() {\n  return nowhere;\n}\n", "'nowhere' is not defined"),
        ("export function f( ) {}\n", "Code style issues"),
        ("\n" * 401, "max-lines"),
    ],
)
def test_a_fault_in_a_module_is_reported(text: str, reported: str, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "one.js").write_text(text)
    node, _ = node_and_npm()
    assert reported in "".join(page_lint.problems_of(node, folder))


def test_modules_that_import_each_other_are_reported(tmp_path: Path) -> None:
    """F-SHOW-10: every module of the page can be loaded by itself."""
    (tmp_path / "one.js").write_text('import { b } from "./two.js";\n')
    (tmp_path / "two.js").write_text('import { a } from "./one.js";\n')
    assert "one <- two" in "".join(page_lint.circles(tmp_path))
    assert list(page_lint.circles(page_lint.PAGE)) == []


@needs_tools
def test_the_page_has_none() -> None:
    node, _ = node_and_npm()
    assert list(page_lint.problems_of(node, page_lint.PAGE)) == []


def test_the_types_of_the_page_are_those_of_the_program() -> None:
    """F-SHOW-10: ``python -m tests.tools.page_contract`` writes them."""
    assert page_contract.CONTRACT.read_text("utf-8") == page_contract.contract()

"""The check of the JavaScript of the inspector's page, and its message where it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import peers
from conformance.peers.install import CannotInstall, node_and_npm
from tests.tools import page_contract, page_lint

pytestmark = pytest.mark.slow


def test_without_node_it_says_aloud_that_nothing_was_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def install(environment: str) -> bool:
        raise CannotInstall("npm (Node.js) is not on PATH")

    monkeypatch.setattr(page_lint, "install", install)
    assert page_lint.main([]) == 0
    assert capsys.readouterr().out.startswith("THE PAGE'S JAVASCRIPT IS NOT CHECKED: npm")


@pytest.mark.skipif(
    not peers.is_installed("node-page"), reason="python -m conformance.peers install node-page"
)
def test_faults_in_modules_are_reported(tmp_path: Path) -> None:
    (tmp_path / "one.js").write_text("export function f() {\n  return nowhere;\n}\n")
    (tmp_path / "two.js").write_text("\n" * 401)
    node, _ = node_and_npm()
    found = "".join(page_lint.problems_of(node, tmp_path))
    for reported in ("'nowhere' is not defined", "Code style issues", "max-lines"):
        assert reported in found


def test_modules_that_import_each_other_are_reported(tmp_path: Path) -> None:
    """F-SHOW-10: every module of the page can be loaded by itself."""
    (tmp_path / "one.js").write_text('import { b } from "./two.js";\n')
    (tmp_path / "two.js").write_text('import { a } from "./one.js";\n')
    assert "one <- two" in "".join(page_lint.circles(tmp_path))
    assert list(page_lint.circles(page_lint.PAGE)) == []


@pytest.mark.parametrize(
    "source",
    [
        "export const one = 1;\n",
        "// @ts-check\n// @ts-ignore\nexport const one = 1;\n",
        "// @ts-check\nexport function f(/** @type {any} */ one) {}\n",
        "// @ts-check\n/** @returns {Map<string, any>} */\nexport function f() {}\n",
        "// @ts-check\n/** @param {any[]} one */\nexport function f(one) {}\n",
    ],
)
def test_no_module_evades_the_type_checker(tmp_path: Path, source: str) -> None:
    """F-SHOW-10: every module of the page is checked strictly, and leaves no type open."""
    (tmp_path / "one.js").write_text(source)
    assert [line.partition(":")[0] for line in page_lint.evasions(tmp_path)] == ["one.js"]
    assert list(page_lint.evasions(page_lint.PAGE)) == []


def test_the_types_of_the_page_are_those_of_the_program() -> None:
    """F-SHOW-10: ``python -m tests.tools.page_contract`` writes them."""
    assert page_contract.CONTRACT.read_text("utf-8") == page_contract.contract()

"""F-SHOW-10, F-PACK-2: the page is put together of its sources, wherever they lie."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mcpclient
from mcpclient.inspector.routes import SCRIPTS, _template, page, policy

PACKAGE = Path(mcpclient.__file__).parent
SOURCES = PACKAGE / "inspector" / "page"

PRINT = "from vendored.inspector.routes import page; sys.stdout.buffer.write(page('n'))"


def test_it_is_one_document_of_less_than_200_kibibytes() -> None:
    _template.cache_clear()
    document = page("abc")
    assert len(document) < 200 * 1024
    assert document.count(b'nonce="abc"') == 2
    for left_over in (b"{NONCE}", b"{PACKAGE}", b"/*STYLE*/", b"/*SCRIPT*/"):
        assert left_over not in document


def test_every_script_is_part_of_it() -> None:
    assert sorted(SCRIPTS) == sorted(path.stem for path in SOURCES.glob("*.js"))


def test_nothing_in_it_comes_from_elsewhere_or_runs_by_itself() -> None:
    """F-SHOW-10: no foreign asset, no inline handler, no text that could become markup."""
    document = page("abc").decode()
    markup = re.sub(r"(?s)<(script|style).*?</\\1>", "", (SOURCES / "page.html").read_text())
    assert not re.search(r"\son[a-z]+=|style=|src=|href=|https?:", markup)
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in document
    assert "url(" not in (SOURCES / "page.css").read_text()


def test_no_script_can_end_its_element() -> None:
    for path in SOURCES.glob("*.js"):
        assert "</script" not in path.read_text().lower()


def test_the_policy_allows_this_page_and_nothing_else() -> None:
    rules = dict(rule.split(" ", 1) for rule in policy("abc").split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'nonce-abc'"
    assert rules["connect-src"] == "'self'"
    assert rules["require-trusted-types-for"] == "'script'"


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_it_travels_under_another_name_and_in_an_archive(form: str, tmp_path: Path) -> None:
    """F-PACK-2: package data, found through the loader; it knows what the package is called."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "vendored", ignore=ignore, copy_function=shutil.copyfile)
    place = tmp_path
    if form == "archive":
        place = tmp_path / "all.pyz"
        with zipfile.ZipFile(place, "w") as archive:
            for path in (tmp_path / "vendored").rglob("*"):
                archive.write(path, path.relative_to(tmp_path))
        shutil.rmtree(tmp_path / "vendored")
    program = f"import sys; sys.path.insert(0, {str(place)!r}); {PRINT}"
    printed = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True)
    own, other = (f' data-package="{name}"'.encode() for name in (mcpclient.__name__, "vendored"))
    assert page("n").count(own) == 1
    assert printed.stdout == page("n").replace(own, other)

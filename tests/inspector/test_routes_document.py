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
from mcpclient.inspector.routes import bundle, page, policy, template

PACKAGE = Path(mcpclient.__file__).parent
SOURCES = PACKAGE / "inspector" / "page"

PRINT = "from vendored.inspector.routes import page; sys.stdout.buffer.write(page('n'))"


def test_it_is_one_document_of_less_than_200_kibibytes() -> None:
    template.cache_clear()
    document = page("abc")
    assert len(document) < 200 * 1024
    assert document.count(b'nonce="abc"') == 3
    for left_over in (b"{NONCE}", b"{PACKAGE}", b"/*STYLE*/", b"/*SCRIPT*/"):
        assert left_over not in document


@pytest.mark.parametrize("kind", ["js", "css"])
def test_every_module_is_part_of_it_and_nothing_is_imported_any_more(kind: str) -> None:
    """F-SHOW-10: modules that import each other become one script."""
    text = bundle({"js": "main", "css": "page"}[kind], kind)
    for path in SOURCES.glob(f"*.{kind}"):
        last = path.read_text().rstrip().splitlines()[-2:]
        assert (kind == "css" and path.stem == "page") or "\n".join(last) in text, path.name
    assert "// @ts-check" not in text
    assert not re.search(r"(?m)^(export|import|@import)\b", text)


def test_no_two_modules_have_a_top_level_name_in_common() -> None:
    """In one script the second would take the first one's place."""
    top = r"(?m)^(?:export )?(?:async )?(?:function|class|const|let|var) (\w+)"
    names = [name for path in SOURCES.glob("*.js") for name in re.findall(top, path.read_text())]
    assert len(names) > 200
    assert sorted(names) == sorted(set(names))


def test_modules_are_short_and_their_lines_fit() -> None:
    for path in SOURCES.iterdir():
        lines = path.read_text().splitlines()
        assert len(lines) <= 400, path.name
        too_long = [number for number, line in enumerate(lines, 1) if len(line) > 100]
        assert too_long == [], path.name


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

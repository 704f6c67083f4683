"""The page for the next owner is short, and names only things that exist."""

from __future__ import annotations

import functools
import re
from importlib.util import find_spec

import pytest

from tests.support.subprocesses import TOP
from tests.support.tables import each_row

PAGE = (TOP / ".github" / "CONTRIBUTING.md").read_text("utf-8")
PROSE = re.sub(r"(?ms)^```.*?^```$", "", PAGE)
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PROSE)))
PATHS = [name for name in QUOTED if re.match(r"(mcpclient|tests|conformance)(/|$)", name)]
TARGETS = re.findall(r"(?m)\bmake ([a-z-]+)[`\s]", PAGE)
NAMES = [name for name in QUOTED if re.fullmatch(r"[A-Za-z_]+", name) and name not in PATHS]

# Placeholders of a rule, words of Python and of the shell.
PLACEHOLDERS = {"mcpclient/x/y.py", "tests/x/test_y.py", "tests/x/test_y_more.py"}
FOREIGN = {"asyncio", "os", "help", "make", "repr", "TYPE_CHECKING"}


@functools.cache
def sources() -> str:
    """Return all of the package and of its tests as one string."""
    paths = [*(TOP / "mcpclient").rglob("*.py"), *(TOP / "tests").rglob("*.py")]
    return "\n".join(path.read_text("utf-8") for path in sorted(paths))


@pytest.mark.parametrize("file", [".ci/run", "Makefile"])
def test_a_module_that_is_run_exists(file: str) -> None:
    modules = set(re.findall(r"-m ((?:tests|conformance)[\w.]*)", (TOP / file).read_text("utf-8")))
    assert modules
    assert [name for name in modules if find_spec(name) is None] == []


def test_it_is_short() -> None:
    assert len(PAGE.splitlines()) <= 150
    assert len(re.findall(r"(?m)^\| \w+ \| ", PAGE)) == 1 + 10, "the heading, and ten words"


@each_row("path", sorted({*PATHS} - PLACEHOLDERS))
def test_a_path_exists(path: str) -> None:
    assert (TOP / path).exists()


def test_a_target_of_make_exists() -> None:
    makefile = (TOP / "Makefile").read_text("utf-8")
    assert {"demo", "test", "check", "sabotage", "conformance"} <= set(TARGETS)
    assert [name for name in TARGETS if not re.search(rf"(?m)^{name}:", makefile)] == []


@pytest.mark.slow
@each_row("name", sorted({*NAMES} - FOREIGN))
def test_a_name_is_defined(name: str) -> None:
    definition = rf"(?m)^\s*(class|def|async def) {name}\b|^\s*{name}(: [^=\n]+)? = |^    {name}: "
    assert re.search(definition, sources())


def test_a_module_that_it_runs_exists() -> None:
    modules = re.findall(r"python -m ([\w.]+)", PROSE)
    found = [TOP.joinpath(*name.split(".")) for name in modules if name != "pytest"]
    assert found
    assert all(path.is_dir() or path.with_suffix(".py").is_file() for path in found)


def test_the_page_about_security_names_promises_and_tests_that_exist() -> None:
    page = (TOP / ".github" / "SECURITY.md").read_text("utf-8")
    features = (TOP / "tests" / "FEATURES.md").read_text("utf-8")
    promises = re.findall(r"\b[A-Z]+-[0-9]+\b", page)
    paths = re.findall(r"`(tests/[\w/]+\.py)`", page)
    assert promises
    assert paths
    assert [name for name in promises if f"| {name} |" not in features] == []
    assert [path for path in paths if not (TOP / path).exists()] == []

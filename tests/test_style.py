"""How the library speaks, as a ratchet: counts of what reads like a translation may only fall.

Each count is the most that is allowed, in the package, and in ``tests`` and ``conformance``: their
strings are data, so only their comments and docstrings count. Lower a count with its number.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mcpclient"

# The most that is allowed of each, in the package and beside it: see the patterns below.
ALLOWED = {
    "docstrings that begin with a question word": (0, 0),
    "docstrings that begin with Take": (0, 0),
    "is no, are no": (0, 0),
    "relative clauses without a noun": (44, 51),
    "nobody, somebody": (0, 0),
    "text for a string": (11, 2),
    "figures of speech": (0, 0),
    "those of, that of": (0, 0),
    "is another one": (0, 0),
    "comments that begin with which": (0, 0),
}

QUESTIONS = ("What", "How", "Where", "When", "Who", "Whom", "Whose", "Which", "Why")
PHRASES = {
    "is no, are no": r"(?<![Tt]here )\b(?:is|are) no (?!longer)[a-z]",
    "relative clauses without a noun": r"(?:^|[^,;:] )\bwhat (?:the|is|a|an|it|they|was|stands)\b",
    "nobody, somebody": r"\b(?:nobody|somebody)\b",
    "text for a string": r"\b(?:has|have) to be a text\b|\b[Aa] text\b|\b[Tt]exts\b",
    "figures of speech": (
        r"\b(?:afar|over there|take note|hears? of|tells? of|insists?|disregards?|at home"
        r"|by word of|some day)\b"
    ),
    "those of, that of": r"\b(?:those|that) of\b",
    "is another one": r"\bis another one\b|\bcounts more\b|\b(?:is|are|was|were) told\b",
    "comments that begin with which": r"^# which\b",
}


@functools.cache
def modules(package: bool) -> dict[Path, str]:
    folders = [PACKAGE] if package else [ROOT / "tests", ROOT / "conformance"]
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {path: path.read_text(encoding="utf-8") for path in paths if path != Path(__file__)}


@functools.cache
def docstrings(package: bool) -> dict[tuple[str, int], str]:
    """Return each docstring by the module and the line where it begins."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        (str(path.relative_to(ROOT)), node.body[0].lineno): text
        for path, source in modules(package).items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds) and (text := ast.get_docstring(node))
    }


@functools.cache
def prose(package: bool) -> list[tuple[str, str]]:
    """Return where comments, docstrings and, of the package, strings with words and pages stand,
    and each of them in one line.
    """
    pages = [*sorted(PACKAGE.rglob("*.md")), ROOT / "README.md"] if package else []
    found = [(page.name, page.read_text(encoding="utf-8")) for page in pages]
    for path, source in modules(package).items():
        module = str(path.relative_to(ROOT))
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT or (
                token.type == tokenize.STRING
                and " " in token.string
                and (package or (module, line) in docstrings(package))
            ):
                found.append((f"{module}:{line}", token.string))
    return [(place, " ".join(text.split())) for place, text in found]


def found(name: str, package: bool) -> list[str]:
    openings = {
        "docstrings that begin with a question word": QUESTIONS,
        "docstrings that begin with Take": ("Take",),
    }
    if name in openings:
        return [
            f"{module}:{line}"
            for (module, line), text in docstrings(package).items()
            if text.split()[0].strip(",") in openings[name]
        ]
    pattern = re.compile(PHRASES[name])
    return [where for where, text in prose(package) for _ in pattern.finditer(text)]


@pytest.mark.parametrize("package", [True, False], ids=["package", "beside"])
@pytest.mark.parametrize("name", ALLOWED)
def test_the_count_only_falls(name: str, package: bool) -> None:
    places = found(name, package)
    assert len(places) <= ALLOWED[name][not package], "\n".join(places)


def test_the_patterns_see_what_they_count() -> None:
    sentence = (
        "what it says is no text for somebody who hears of a text afar, those of a server is told"
    )
    counts = {name: len(re.findall(pattern, sentence)) for name, pattern in PHRASES.items()}
    assert counts == {
        "is no, are no": 1,
        "relative clauses without a noun": 1,
        "nobody, somebody": 1,
        "text for a string": 1,
        "figures of speech": 2,
        "those of, that of": 1,
        "is another one": 1,
        "comments that begin with which": 0,
    }
    assert re.search(PHRASES["comments that begin with which"], "# which are compared")


# The most attributes of the package's own that tests may use: each is a rename that breaks a test.
MOST_PRIVATE = 29


def private_names(tree: ast.Module) -> set[str]:
    """Return the names with an underscore that a module defines or imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
            found.add(node.attr if isinstance(node, ast.Attribute) else node.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def test_tests_use_few_private_attributes_of_the_package() -> None:
    private = set().union(*map(private_names, map(ast.parse, modules(True).values())))
    found = []
    for path, source in modules(False).items():
        tree = ast.parse(source)
        others = private - (private_names(tree) if ROOT / "tests" in path.parents else private)
        for node in ast.walk(tree):
            owner = getattr(getattr(node, "value", None), "id", "")
            if isinstance(node, ast.Attribute) and node.attr in others and owner != "self":
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert len(found) <= MOST_PRIVATE, "\n".join(found)


def test_functions_and_files_are_short() -> None:
    for path, source in modules(True).items():
        assert source.count("\n") <= 500, path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert (node.end_lineno or 0) - node.lineno < 65, f"{path}: {node.name}"

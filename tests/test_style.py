"""How the library speaks, as a ratchet: counts of what reads like a translation may only fall.

Each count is the most that is allowed. Whoever lowers one lowers the number here; nobody raises it.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent.parent / "mcpclient"

# The most that is allowed of each: see the functions and patterns below.
ALLOWED = {
    "docstrings that begin with a question word": 0,
    "docstrings that begin with Take": 0,
    "is no, are no": 0,
    "relative clauses without a noun": 45,
    "nobody, somebody": 0,
    "text for a string": 11,
    "figures of speech": 0,
    "those of, that of": 6,
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
}


@functools.cache
def modules() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield where each docstring stands, and the docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path, source in modules().items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, kinds):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(PACKAGE)}:{getattr(node, 'name', '')}", text


def prose() -> Iterator[tuple[str, str]]:
    """Yield where comments, strings with words and pages stand, and each of them in one line."""
    for page in [*sorted(PACKAGE.rglob("*.md")), PACKAGE.parent / "README.md"]:
        yield page.name, " ".join(page.read_text(encoding="utf-8").split())
    for path, source in modules().items():
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            is_prose = token.type == tokenize.COMMENT or " " in token.string
            if token.type in (tokenize.COMMENT, tokenize.STRING) and is_prose:
                yield (
                    f"{path.relative_to(PACKAGE)}:{token.start[0]}",
                    " ".join(token.string.split()),
                )


def found(name: str) -> list[str]:
    if name == "docstrings that begin with a question word":
        return [where for where, text in docstrings() if text.split()[0].strip(",") in QUESTIONS]
    if name == "docstrings that begin with Take":
        return [where for where, text in docstrings() if text.split()[0] == "Take"]
    pattern = re.compile(PHRASES[name])
    return [where for where, text in prose() for _ in pattern.finditer(text)]


@pytest.mark.parametrize("name", ALLOWED)
def test_the_count_only_falls(name: str) -> None:
    places = found(name)
    assert len(places) <= ALLOWED[name], "\n".join(places)


def test_the_patterns_see_what_they_count() -> None:
    sentence = "what it says is no text for somebody who hears of a text afar, those of a server"
    counts = {name: len(re.findall(pattern, sentence)) for name, pattern in PHRASES.items()}
    assert counts == {
        "is no, are no": 1,
        "relative clauses without a noun": 1,
        "nobody, somebody": 1,
        "text for a string": 1,
        "figures of speech": 2,
        "those of, that of": 1,
    }

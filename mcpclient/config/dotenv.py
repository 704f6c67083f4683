"""The lines of an ``.env`` file."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the variables of a text, and the numbers of the lines that are none.

    A value may stand in quotes, and in double ones with escapes; a comment begins with ``#`` behind
    white space. Values are not read for variables.
    """
    found: dict[str, str] = {}
    wrong: list[int] = []
    for number, line in _lines(text):
        match = _LINE.match(line)
        if match is None:
            wrong.append(number)
            continue
        name, value = match.groups()
        quoted = _QUOTED.match(value)
        if quoted is None:
            found[name] = re.split(r"\s#", value, maxsplit=1)[0].strip()
        elif quoted.group(2) is not None:
            found[name] = quoted.group(2)
        else:
            found[name] = _ESCAPE.sub(
                lambda escape: _ESCAPES.get(escape.group(1), escape.group(1)), quoted.group(1)
            )
    return found, wrong


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line

"""Escaping of a server's strings for a terminal or a log.

An escape sequence could rewrite the screen, a bidirectional override could show a name as another
one, an invisible character could hide an instruction, a line feed could forge a line of a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .invisible import has_a_use, is_unsafe

_UNSAFE_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def escape(text: str) -> str:
    r"""Return the text with all characters that a terminal obeys or hides written out: ``\x1b``.

    Line feeds and tabs stay; line ends become line feeds. So do the joiners inside of words and
    emoji that need them, and the one character that makes a symbol an emoji.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and _UNSAFE_ASCII.search(text) is None:
        return text
    return _escaped(text, _in_python)


def escape_line(text: str) -> str:
    r"""Return the text as `escape` does, on one line: its line ends are written out, too."""
    return escape(text).replace("\n", r"\n")


def escape_in_json(text: str) -> str:
    r"""Return a JSON text whose strings have such characters written out: ``\u200b``.

    Its value is the same, and all else stays readable, whatever its script.
    """
    return _escaped(text, _in_json)


def _escaped(text: str, written: Callable[[str], str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        character = match.group()
        has_use = has_a_use(character, match.string, match.start())
        return character if has_use else written(character)

    unsafe = "".join(filter(is_unsafe, set(text)))
    return re.sub(f"[{re.escape(unsafe)}]", replaced, text) if unsafe else text


def _in_python(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _in_json(character: str) -> str:
    import json

    return json.dumps(character)[1:-1]

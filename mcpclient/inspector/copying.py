"""How a server is reached, to be copied as a program: what may be secret becomes a variable.

A command that is copied has to run, so more of it is told than `display` shows in messages:
options, paths, numbers and plain words. Each word that may be a secret is replaced by an
environment variable, whose name says what belongs there; so it runs as soon as that is set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Union

from ..auth.options import OAuth
from ..client.connection.options import Options
from ..display import shown_path, shown_url, shown_words
from ..recording.secret_names import is_secret_name

Word = list[Union[str, dict[str, str]]]
"""Texts, and ``{"variable": NAME}`` where the value of a variable belongs."""

_NUMBER = re.compile(r"-?[0-9]{1,6}(?:\.[0-9]{1,6})?")
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)(?:(=)(.*))?", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PLAIN = re.compile(r"@?[A-Za-z]{1,20}(?:[-_.,:@/][A-Za-z]{1,20}[0-9]{0,3}|[-_.,:@/][0-9]{1,5})*")
_PATH = re.compile(r"(?:/|\.{1,2}(?:[/\\]|$)|~|[A-Za-z]:[/\\])[\w ./\\~+@,()-]*")
# Short options whose values are keys, passwords, tokens, users or headers as often as not.
_TELLING_OPTIONS = frozenset({"-H", "-P", "-a", "-k", "-p", "-t", "-u"})


def copied_target(destination: str | Sequence[str] | None, options: Options) -> dict[str, Any]:
    """Return how the server at ``destination``, a URL or a whole command, is reached.

    ``url``: a word, or ``command``: its words, and ``cwd``. ``oauth``: what is not secret among the
    options of a login, if there is one. All but one of ``url`` and ``command`` may be missing; both
    are where the destination is neither.
    """
    if destination is None:
        return {}
    if not isinstance(destination, str):
        cwd = {} if options.cwd is None else {"cwd": os.fspath(options.cwd)}
        return {"command": copied_command(destination), **cwd}
    copied: dict[str, Any] = {"url": copied_url(destination)}
    if isinstance(options.auth, OAuth):
        told = {name: getattr(options.auth, name) for name in ("client_id", "local_development")}
        copied["oauth"] = {name: value for name, value in told.items() if value}
    return copied


def copied_url(url: str) -> Word:
    """Return a URL. Where its beginning holds a secret, all of it is one variable."""
    base, mark, query = url.partition("?")
    if shown_url(base) != base:
        return [{"variable": "SERVER_URL"}]
    word: Word = [base + mark]
    for index, pair in enumerate(query.split("&") if query else ()):
        name, equals, value = pair.partition("=")
        word.append(f"{'&' if index else ''}{name}{equals}")
        is_told = not _names_a_secret(name) and (not value or _is_harmless(value))
        word.append(value if is_told else {"variable": _variable(name)})
    return _joined(word)


def copied_command(command: Sequence[str]) -> list[Word]:
    """Return the words of a command."""
    shown = shown_words(command)
    words: list[Word] = []
    option = ""
    for index, word in enumerate(command):
        found = _OPTION.fullmatch(word)
        if word == shown[index] or word == "--":
            words.append([word])
        elif found is not None:
            words.append(_assigned(found[1] + (found[2] or ""), found[1], found[3] or ""))
        else:
            words.append(_argument(word, option, index))
        option = word if found is not None and found[2] is None else ""
    return words


def _argument(word: str, option: str, index: int) -> Word:
    """Return the word after ``option``, or one that follows none."""
    assignment = _ASSIGNMENT.fullmatch(word)
    if assignment is not None:
        return [f"{assignment[1]}=", {"variable": _variable(assignment[1])}]
    name = option.lstrip("-")
    if _NUMBER.fullmatch(word):
        return [word]
    if _names_a_secret(name) or option in _TELLING_OPTIONS or not _is_harmless(word):
        return [{"variable": _variable(name if len(name) > 1 else f"argument_{index}")}]
    return [word]


def _assigned(before: str, option: str, value: str) -> Word:
    name = option.lstrip("-")
    if not value or (not _names_a_secret(name) and _is_harmless(value)):
        return [before + value]
    return [before, {"variable": _variable(name)}]


def _names_a_secret(name: str) -> bool:
    return is_secret_name(name) or name.lower().endswith("key")


def _is_harmless(text: str) -> bool:
    """Whether a text is of a kind that is no secret: a number, a path, a URL, or plain words."""
    if "://" in text:
        return shown_url(text) == text
    is_plain = any(kind.fullmatch(text) for kind in (_NUMBER, _PATH, _PLAIN))
    return is_plain and shown_path(text) == text


def _variable(name: str) -> str:
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper()
    return text if text and not text[0].isdigit() else f"VALUE_{text}"


def _joined(word: Word) -> Word:
    """Return a word with neighbouring texts in one."""
    joined: Word = []
    for part in word:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] += part
        elif part:
            joined.append(part)
    return joined

"""Changing an input a little: its JSON, pieces of other inputs put in, bytes moved about.

atheris does the last one better and asks for the others; the unit suite does with what is here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

_TOKEN = re.compile(rb"[\w.-]+|[^\w.-]+")
_HOSTILE_JSON: tuple[Any, ...] = (
    None, True, False, 0, -1, 0.5, 1e308, 2**53, 10**30, float("nan"), float("inf"), "", "\0",
    "\ud800", "\u2028", "é", "http://[", "a" * 300, [], {}, [[[[]]]], {"": {}},
)  # fmt: skip
_MAX_DEPTH = 40


class Mutator:
    """Makes new inputs from old ones. ``corpus``: where it finds words and values to put in."""

    def __init__(self, corpus: Iterable[bytes]) -> None:
        inputs = list(corpus)
        self._tokens: list[bytes] = sorted(
            {token for data in inputs for token in _TOKEN.findall(data)}
        )
        self._tokens += [b"\r", b"\n", b"\0", b"\xff", b"\xed\xa0\x80", b"%00", b"9" * 4400]
        self._values = list(_HOSTILE_JSON)
        self._names = [""]
        for data in inputs:
            for line in data.split(b"\n"):
                self._collect(_parsed(line), 0)

    def _collect(self, value: Any, depth: int) -> None:
        if depth > _MAX_DEPTH or value is _NONE:
            return
        self._values.append(value)
        if isinstance(value, dict):
            self._names += value
        for member in _members(value):
            self._collect(member, depth + 1)

    def mutate(self, data: bytes, random: Random) -> bytes:
        """Return the input with one to three changes."""
        for _ in range(random.randrange(1, 4)):
            data = self.change_tokens(data, random)
            data = self.change_json(data, random)
            data = random.choice(_BYTE_CHANGES)(data, random)
        return data

    def change_tokens(self, data: bytes, random: Random) -> bytes:
        """Put words of the corpus in the place of others, or beside them."""
        begin = random.randrange(len(data) + 1)
        end = min(len(data), begin + random.choice((0, 0, 1, 4, 16)))
        return data[:begin] + random.choice(self._tokens) + data[end:]

    def change_json(self, data: bytes, random: Random) -> bytes:
        """Change one line that is JSON; without any, nothing."""
        lines = data.split(b"\n")
        index = random.randrange(len(lines))
        value = _parsed(lines[index])
        if value is not _NONE:
            lines[index] = json.dumps(self._changed(value, random, 0)).encode()
        return b"\n".join(lines)

    def _changed(self, value: Any, random: Random, depth: int) -> Any:
        if not value or not isinstance(value, (dict, list)) or depth > _MAX_DEPTH:
            return random.choice(self._values)
        action = random.randrange(8)
        if isinstance(value, list):
            items = list(value)
            index = random.randrange(len(items))
            if action == 0:
                items.insert(index, random.choice(self._values))
            elif action == 1:
                del items[index]
            else:
                items[index] = self._changed(items[index], random, depth + 1)
            return items
        members = dict(value)
        name = random.choice(list(members))
        if action == 0:
            members[random.choice(self._names)] = random.choice(self._values)
        elif action == 1:
            del members[name]
        elif action == 2:
            members[random.choice(self._names)] = members.pop(name)
        else:
            members[name] = self._changed(members[name], random, depth + 1)
        return members


_NONE = object()  # not JSON


def _parsed(line: bytes) -> Any:
    if line[:1] not in (b"{", b"["):
        return _NONE
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _NONE


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def _drop(data: bytes, random: Random) -> bytes:
    begin = random.randrange(len(data) + 1)
    return data[:begin] + data[begin + random.randrange(1, 9) :]


def _repeat(data: bytes, random: Random) -> bytes:
    begin = random.randrange(len(data) + 1)
    piece = data[begin : begin + random.randrange(1, 33)]
    return data[:begin] + piece * random.choice((2, 3, 100)) + data[begin + len(piece) :]


_BYTE_CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (_flip, _drop, _repeat)

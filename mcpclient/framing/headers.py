"""HTTP field lines: parsing received ones and encoding one (RFC 9110, section 5)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, TypeVar, overload

from ..display import HIDDEN
from ..errors import ProtocolViolation, UsageError

MAX_FIELDS = 256
"""The most field lines of one head or one trailer section."""

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""The grammar of methods and field names (RFC 9110, section 5.6.2)."""

T = TypeVar("T")

_WHITESPACE = " \t"
# The fields whose values a repr shows. Any other may hold a secret: a key has many names.
_PUBLIC = frozenset(
    (
        *("accept", "accept-ranges", "age", "allow", "cache-control", "connection"),
        *("content-encoding", "content-length", "content-type", "date", "host", "keep-alive"),
        *("mcp-protocol-version", "retry-after", "server", "transfer-encoding", "upgrade", "vary"),
    )
)

# One pass over a whole block: every match is one whole line, so that equal counts of matches and
# of line ends prove that nothing was skipped. No two neighbouring parts of it match the same
# characters, so a hostile block cannot make it backtrack.
_FIELD_LINE = re.compile(rf"^({TOKEN.pattern}):([^\r\n\0]*)\r?\n", re.MULTILINE)
_FOLD = re.compile(r"\r?\n[ \t]+")

# Control characters other than the tab: RFC 9110, section 5.5 allows none of them in a value.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Headers(Mapping[str, str]):
    """The fields of one message: case-insensitive names, in order, with repeated values kept.

    As a mapping it has each name once, in lower case, in the order of first appearance, and its
    value is all values of that name joined by ``", "`` (RFC 9110, section 5.2), of ``Set-Cookie``
    the first one. Against another mapping the joined values are compared. Its repr has all names,
    but values only where they are known to hold no secret.
    """

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name.lower(), []).append(value.strip(_WHITESPACE))
        self._values = values

    def __getitem__(self, name: str) -> str:
        name = name.lower()
        values = self._values[name]
        if len(values) == 1 or name == "set-cookie":
            return values[0]
        return ", ".join(values)

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, /, default: str | T) -> str | T: ...
    def get(self, name: str, /, default: str | T | None = None) -> str | T | None:
        """Return the value of a name, or ``default``, without the cost of an exception."""
        values = self._values.get(name.lower())
        if values is None:
            return default
        return values[0] if len(values) == 1 else self[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get_all(self, name: str) -> list[str]:
        """Return every value of this name in the order received; an empty list if there is none."""
        return list(self._values.get(name.lower(), ()))

    def pairs(self) -> list[tuple[str, str]]:
        """Return every value with its name in lower case; values of one name stand together."""
        return [(name, value) for name, values in self._values.items() for value in values]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Headers):
            return self._values == other._values
        if isinstance(other, Mapping):
            return dict(self) == {str(name).lower(): value for name, value in other.items()}
        return NotImplemented

    # Equal to dicts, which have none.
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        pairs = self.pairs()
        shown = [(name, value if name in _PUBLIC else HIDDEN) for name, value in pairs]
        return f"Headers({shown!r})"


def parse_fields(block: str) -> Headers:
    """Parse field lines, decoded as Latin-1, each with its line end, CRLF or LF.

    Folded lines are joined by a space (RFC 9112, section 5.2). Raises `ProtocolViolation` when a
    line is not a field line, or there are more than `MAX_FIELDS`.
    """
    if "\n " in block or "\n\t" in block:
        block = _FOLD.sub(" ", block)
    pairs = _FIELD_LINE.findall(block)
    if len(pairs) != block.count("\n"):
        raise ProtocolViolation(_explain(block))
    if len(pairs) > MAX_FIELDS:
        raise ProtocolViolation(f"the server sent more than {MAX_FIELDS} header fields")
    return Headers(pairs)


def _explain(block: str) -> str:
    """Return the fault of the first bad line, without its value, which may be secret."""
    bad = next(line for line in block.split("\n") if not _FIELD_LINE.fullmatch(line + "\n"))
    name, colon, _value = bad.partition(":")
    if bad[:1] in (" ", "\t"):
        return "the server sent white space before the first header field"
    if not colon:
        shown = bad.rstrip("\r")[:40]
        return f"the server sent a header line without a colon: {shown!r}"
    if not TOKEN.fullmatch(name):
        return f"the server sent a bad header name: {name[:40]!r}"
    return f"the server sent a bare CR or a NUL in the header {name[:40]!r}"


def encode_header(name: str, value: str) -> bytes:
    """Return one field line with its CRLF; white space around the value is not part of it.

    Raises `UsageError` when the name is not a token, or the value has control characters or
    characters beyond Latin-1. The text names the header and never shows the value.
    """
    if not TOKEN.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of an HTTP header")
    if _CONTROL.search(value):
        raise UsageError(f"the value for the HTTP header {name} has a control character")
    try:
        return f"{name}: {value.strip(_WHITESPACE)}\r\n".encode("latin-1")
    except UnicodeEncodeError:
        raise UsageError(
            f"the value for the HTTP header {name} has characters beyond Latin-1"
        ) from None


def merged(
    base: Iterable[tuple[str, str]], over: Collection[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the fields of both, where each of ``over`` stands for all of its name in ``base``.

    Two values for ``Authorization`` would leave the choice to the server.
    """
    names = {name.lower() for name, _ in over}
    return [*[field for field in base if field[0].lower() not in names], *over]

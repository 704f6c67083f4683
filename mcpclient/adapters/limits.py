"""Limits of model APIs: text, images and other media, and the names that they accept."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Union

from ..errors import UsageError
from ..framing.logs import logger_for

_logger = logger_for("mcpclient.adapters")

# A larger result takes up much of a model's context.
_MANY_TOKENS = 10_000

Overflow = Union[Literal["cut", "file"], Callable[[str], str]]


@dataclass(frozen=True)
class Limits:
    """Limits of the content that one result adds to a conversation.

    - ``max_chars``: the most characters of text (100,000). A longer text is cut in the middle;
      ``keep_tail`` is the share of its end (0.25).
    - ``max_image_bytes``: the most bytes of an image (5,000,000); a note replaces a larger one. A
      lower limit of the API takes precedence.
    - ``overflow``: the treatment of the rest: ``"cut"`` drops it; ``"file"`` writes the whole text
      to a temporary file that only this user can read, and gives the model its path; a function
      receives the whole text and returns a description, for the model, of where to find it.
    - ``unknown``: content of an unknown type becomes JSON (``"keep"``) or is left out (``"drop"``).
    - ``pick``: the parts of structured content, or of JSON in a text, that the model gets, as in
      ``"items[].{id, title}"`` (`mcpclient.formats.pick`), one per line; where it does not fit, the
      model gets all of it.
    - ``structured``: the form of a result with both text and structured content: ``"text"`` adds
      the structured content only if the text does not repeat it; ``"only"`` uses just the
      structured content (and media; the text of a failed call); ``"both"`` always uses both.
    """

    max_chars: int = 100_000
    max_image_bytes: int = 5_000_000
    overflow: Overflow = "cut"
    keep_tail: float = 0.25
    unknown: Literal["keep", "drop"] = "keep"
    structured: Literal["text", "only", "both"] = "text"
    pick: str | None = None

    def __post_init__(self) -> None:
        if self.max_chars < 0 or self.max_image_bytes < 0 or not 0 <= self.keep_tail <= 1:
            raise UsageError("limits must not be negative, and keep_tail must be between 0 and 1")
        if self.overflow not in ("cut", "file") and not callable(self.overflow):
            raise UsageError(f'overflow is "cut", "file" or a function, not {self.overflow!r}')
        if self.unknown not in ("keep", "drop"):
            raise UsageError(f'unknown is "keep" or "drop", not {self.unknown!r}')
        if self.structured not in ("text", "only", "both"):
            raise UsageError(f'structured is "text", "only" or "both", not {self.structured!r}')
        if self.pick is not None:
            from ..formats.pick import parse_pick

            parse_pick(self.pick)


def picked_lines(value: Any, wanted: str) -> list[str] | None:
    """Return the parts of a value, strings as is and all else as JSON; None if it has none."""
    from ..formats.pick import parse_pick

    try:
        found = list(parse_pick(wanted)(value))
    except UsageError:
        return None
    return [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in found
    ]


def limited(text: str, limits: Limits) -> str:
    """Return the text, or its beginning and end if it is too long."""
    surplus = len(text) - limits.max_chars
    if surplus <= 0:
        return text
    tail = int(limits.max_chars * limits.keep_tail)
    head = limits.max_chars - tail
    note = f"{surplus:,} characters left out{_whereabouts(text, limits)}"
    return f"{text[:head]}\n\n[… {note} …]\n\n{text[len(text) - tail :]}"


def _whereabouts(text: str, limits: Limits) -> str:
    if limits.overflow == "cut":
        return ""
    from ..net.files import save_text

    try:
        place = save_text(text) if limits.overflow == "file" else str(limits.overflow(text))
    except Exception as error:  # the caller's function or a full disk; the model gets the rest
        _logger.warning("the whole text could not be kept: %s", type(error).__name__)
        return ""
    return f"; all {len(text):,} are in {place}" if place else ""


def estimated_tokens(text: str) -> int:
    """Return an estimate of a string's tokens: a quarter of its characters, as in English."""
    return len(text) // 4


def token_warning(text: str) -> str | None:
    """Return a warning if a string has many tokens by a rough estimate, else None."""
    tokens = estimated_tokens(text)
    return f"the result has about {tokens:,} tokens" if tokens > _MANY_TOKENS else None


_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
# Other names of types that have no signature above, or may lack it.
_SYNONYMS = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-flac": "audio/flac"}


@dataclass(frozen=True)
class Media:
    """Binary content: its media type, the bytes, and a name where it has one."""

    media_type: str
    data: bytes = field(repr=False)
    name: str = ""

    @property
    def kind(self) -> str:
        """``"image"``, ``"audio"``, ``"video"``, or ``"document"`` for everything else."""
        kind = self.media_type.partition("/")[0]
        return kind if kind in ("image", "audio", "video") else "document"

    @property
    def base64(self) -> str:
        """The bytes in Base64, without line breaks."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def file_name(self) -> str:
        """The last part of the name, for APIs that want the name of a file."""
        return self.name.rpartition("/")[2] or "document.pdf"

    @property
    def description(self) -> str:
        """A description in words, for a model that does not get the content."""
        named = f" {self.name}" if self.name else ""
        return f"{self.kind}{named}, {self.media_type}, {len(self.data)} bytes"


IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""The images that most APIs accept."""


@dataclass(frozen=True)
class MediaRules:
    """The media types that an API accepts, and the most bytes of each kind (before Base64).

    ``taken``: the accepted media types, each with the API's name for it. ``takes_all``: whether all
    others are accepted as well.
    """

    taken: Mapping[str, str] = field(default_factory=dict)
    most_bytes: Mapping[str, int] = field(default_factory=dict)
    takes_all: bool = False

    def refusal(self, media: Media, most_image_bytes: int) -> str | None:
        """Return the reason why the API rejects these media, or None."""
        if not media.data:
            return f"{media.description}: it is empty or damaged"
        if not self.takes_all and media.media_type not in self.taken:
            return f"{media.description}: the model does not accept this type here"
        limit = self.most_bytes.get(media.kind)
        if media.kind == "image":
            limit = min(most_image_bytes, most_image_bytes if limit is None else limit)
        if limit is not None and len(media.data) > limit:
            return f"{media.description}: it is larger than {limit} bytes"
        return None


def media_type_of(data: bytes, declared: str) -> str:
    """Return the media type of these bytes by their signature, else ``declared``."""
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] in _RIFF:
        return _RIFF[data[8:12]]
    written = declared.partition(";")[0].strip().lower()
    return _SYNONYMS.get(written, written) or "application/octet-stream"


# Names

_DIGEST = 8


class NameRule:
    """The names that an API accepts: at most ``longest`` characters out of ``allowed``.

    ``allowed`` is the inside of a character class of a regular expression; so is ``first``, if
    given, for the first character. A valid name is kept. In others, invalid characters become ``_``
    and the end is cut if need be; a digest makes the conversion independent of other names.
    """

    def __init__(self, allowed: str, longest: int, first: str | None = None) -> None:
        self._fit = re.compile(f"(?=[{first or allowed}])[{allowed}]{{1,{longest}}}")
        self._unfit = re.compile(f"[^{allowed}]")
        self._longest = longest

    def admits(self, name: str) -> bool:
        """Whether the API accepts the name as it is."""
        return self._fit.fullmatch(name) is not None

    def fitted(self, name: str, taken: Collection[str]) -> str:
        """Return an accepted name that is not in ``taken``; ``name`` itself if possible."""
        if self.admits(name) and name not in taken:
            return name
        clean = self._unfit.sub("_", name) or "_"
        if not self.admits(clean[0]):
            clean = "_" + clean
        if clean not in taken and len(clean) <= self._longest:
            return clean
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        result, count = self._ending(clean, f"_{digest[:_DIGEST]}"), 1
        while result in taken:
            count += 1
            result = self._ending(clean, f"_{digest[:_DIGEST]}_{count}")
        return result

    def _ending(self, name: str, end: str) -> str:
        return name[: self._longest - len(end)] + end


def fit_names(names: Iterable[str], rule: NameRule) -> dict[str, str]:
    """Return the name to use for each name, all of them different.

    Names that are accepted as they are come first, so that no other name is changed into one of
    them.
    """
    listed = list(names)
    fitted: dict[str, str] = {}
    for _ in fitting(listed, rule, fitted):
        pass
    return {name: fitted[name] for name in listed}


def fitting(names: Iterable[str], rule: NameRule, fitted: dict[str, str]) -> Iterator[None]:
    """Add the names that are not in ``fitted`` to it as `fit_names` does, a step at a time."""
    taken = set(fitted.values())
    others = []
    for name in names:
        yield
        if name not in fitted and rule.admits(name) and name not in taken:
            fitted[name] = name
            taken.add(name)
        elif name not in fitted:
            others.append(name)
    for name in sorted(set(others)):
        yield
        fitted[name] = rule.fitted(name, taken)
        taken.add(fitted[name])


LONE_SURROGATES = "\ud800-\udfff"
"""The lone surrogates, as the inside of a character class."""

_LONE = re.compile(f"[{LONE_SURROGATES}]")


def without_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of each lone surrogate, also in keys.

    JSON may contain lone surrogates; the UTF-8 of an HTTP request cannot.
    """
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    return with_strings(value, without_surrogates)


def with_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a JSON value with each string changed, also in keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            change(key) if isinstance(key, str) else key: with_strings(item, change)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [with_strings(item, change) for item in value]
    return value

"""How much of a tool's result a model gets, and where the rest goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Literal, Union

from ..errors import UsageError
from ..framing.logs import logger_for
from ..net.files import save_text

_logger = logger_for("mcpclient.adapters")

# From here on a result takes a good part of what a model reads at all.
_MANY_TOKENS = 10_000
# Four characters of English, and of most code, are about one token.
_CHARACTERS_PER_TOKEN = 4

Overflow = Union[Literal["cut", "file"], Callable[[str], str]]


@dataclass(frozen=True)
class Limits:
    """Limits of what one result brings into a conversation.

    - ``max_chars``: how many characters of text (100,000). Of a longer text the beginning and the
      end stay; ``keep_tail`` is the share of the end (0.25).
    - ``max_image_bytes``: how many bytes an image may have (5,000,000); a larger one is replaced
      by a note. Where an API takes less, its own limit counts.
    - ``overflow``: what happens to the rest: ``"cut"`` drops it; ``"file"`` writes the whole text
      to a temporary file that only this user may read, whose path the model is told; a function is
      given the whole text and returns where it is, in words for the model.
    - ``unknown``: content of a type this library does not know is shown as JSON (``"keep"``) or
      left out (``"drop"``).
    - ``structured``: which form of a result the model gets where a server sends both: ``"text"``,
      to which the structured content is added only when it says more than the text; ``"only"`` the
      structured content (and media; of a failed call the text); ``"both"`` always.
    """

    max_chars: int = 100_000
    max_image_bytes: int = 5_000_000
    overflow: Overflow = "cut"
    keep_tail: float = 0.25
    unknown: Literal["keep", "drop"] = "keep"
    structured: Literal["text", "only", "both"] = "text"

    def __post_init__(self) -> None:
        if self.max_chars < 0 or self.max_image_bytes < 0 or not 0 <= self.keep_tail <= 1:
            raise UsageError("limits are not negative, and keep_tail is between 0 and 1")
        if self.overflow not in ("cut", "file") and not callable(self.overflow):
            raise UsageError(f'overflow is "cut", "file" or a function, not {self.overflow!r}')
        if self.unknown not in ("keep", "drop"):
            raise UsageError(f'unknown is "keep" or "drop", not {self.unknown!r}')
        if self.structured not in ("text", "only", "both"):
            raise UsageError(f'structured is "text", "only" or "both", not {self.structured!r}')


def limited(text: str, limits: Limits) -> str:
    """Return the text, or its beginning and end where it is too long."""
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
    try:
        place = save_text(text) if limits.overflow == "file" else str(limits.overflow(text))
    except Exception as error:  # the caller's function, or a full disk: the beginning still helps
        _logger.warning("the whole text could not be kept: %s", type(error).__name__)
        return ""
    return f"; all {len(text):,} are in {place}" if place else ""


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has: a quarter of its characters."""
    return len(text) // _CHARACTERS_PER_TOKEN


def token_warning(text: str) -> str | None:
    """Return a warning where a text has many tokens, by a rough estimate."""
    tokens = estimated_tokens(text)
    return f"the result has about {tokens:,} tokens" if tokens > _MANY_TOKENS else None

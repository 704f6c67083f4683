"""The protocol's revisions and the era of each. The only place that compares versions."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable


class Era(enum.Enum):
    """How a revision opens a connection: with a handshake, or with metadata on every request."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


# Oldest first; the order is the order of preference when several are possible.
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]
# The draft of 2024-11-05, which the official TypeScript SDK has spoken and accepts to this day.
_DRAFTS = ("2024-10-07",)
LATEST_STATELESS = STATELESS_VERSIONS[-1]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def era_of(version: str) -> Era | None:
    """Return the era of a revision, or None for one this library does not know."""
    if version in STATELESS_VERSIONS:
        return Era.STATELESS
    if version in HANDSHAKE_VERSIONS:
        return Era.HANDSHAKE
    return None


def is_past_handshakes(version: str) -> bool:
    """Whether a revision is of the stateless era, or a later one that this library does not know.

    A name that is no date tells nothing of its age.
    """
    return _DATE.match(version) is not None and version[:10] >= STATELESS_VERSIONS[0]


def is_outdated(version: str) -> bool:
    """Whether a revision is older than the latest with a handshake, and none that is known.

    A newer one can be spoken as its predecessor was; of an older one nothing is known.
    """
    is_known = era_of(version) is not None or version in _DRAFTS
    return not is_known and _DATE.match(version) is not None and version < LATEST_HANDSHAKE


def best_common(offered: Iterable[object], known: tuple[str, ...]) -> str | None:
    """Return the newest of the ``known`` revisions that is also ``offered``, or None."""
    names = {name for name in offered if isinstance(name, str)}
    return max(names.intersection(known), key=known.index, default=None)

"""What the page shows besides the wire: servers, calls, questions; and what of it is new to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from .depth import without_depths

_MAX_ITEMS = 1_000


class Item(NamedTuple):
    """One thing on the board. ``value``: a JSON object; None: it is gone."""

    kind: str
    name: str
    value: dict[str, Any] | None
    version: int


class Board:
    """Items by kind and name. Every change has a version, so that a page that was away for a while
    asks for what is newer than what it has seen, and gets the latest of each.

    At most 1,000 items are kept; those that have not changed for the longest time go first, unless
    they are of a kind in ``lasting``.
    """

    def __init__(self, lasting: frozenset[str] = frozenset({"server"})) -> None:
        self.version: int = 0
        self._lasting = lasting
        self._items: OrderedDict[tuple[str, str], Item] = OrderedDict()

    def put(self, kind: str, name: str, value: dict[str, Any] | None) -> None:
        """Show ``value``, unless it is shown already."""
        value = without_depths(value)
        key = (kind, name)
        shown = self._items.get(key)
        if shown is not None and shown.value == value:
            return
        self.version += 1
        self._items[key] = Item(kind, name, value, self.version)
        self._items.move_to_end(key)
        if len(self._items) > _MAX_ITEMS:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        for key in self._items:
            if key[0] not in self._lasting:
                del self._items[key]
                return

    def since(self, version: int) -> list[Item]:
        """Return the items that have changed after ``version``, the oldest change first."""
        found: list[Item] = []
        for item in reversed(self._items.values()):
            if item.version <= version:
                break
            found.append(item)
        found.reverse()
        return found

"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ...errors import ProtocolViolation

__all__ = ["MAX_PAGES", "all_pages"]

MAX_PAGES = 1000
"""How many pages a list may have before it counts as endless."""


async def all_pages(
    fetch: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]], key: str
) -> list[dict[str, Any]]:
    """Return the objects under ``key`` of every page.

    ``fetch`` takes the params of one request and returns its result. A cursor is opaque, and the
    list ends only where there is none ("Pagination", all revisions). Items that are not objects are
    left out. Raises `ProtocolViolation` for a cursor that comes again, and after `MAX_PAGES` pages.
    """
    items: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        result = await fetch(params)
        page = result.get(key)
        if isinstance(page, list):
            items += [item for item in page if isinstance(item, dict)]
        cursor = result.get("nextCursor")
        if cursor is None:
            return items
        shown = repr(cursor)  # by the schema a string, but anything else is sent back unchanged too
        if shown in seen:
            raise ProtocolViolation(f"the server gave the cursor {shown[:100]} for {key} twice")
        seen.add(shown)
        params = {"cursor": cursor}
    raise ProtocolViolation(f"the list of {key} did not end within {MAX_PAGES} pages")

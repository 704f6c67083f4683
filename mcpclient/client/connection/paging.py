"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ...errors import ProtocolViolation, safe_repr
from ...jsonrpc.codec import weight_of

MAX_PAGES = 1000
"""How many pages a list may have before it counts as endless."""

MAX_WEIGHT = 256 * 1024 * 1024
"""How much memory the pages of a list may take together, in bytes."""


async def all_pages(
    fetch: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]], key: str
) -> list[dict[str, Any]]:
    """Return the objects under ``key`` of every page.

    ``fetch`` takes the params of one request and returns its result. A cursor is opaque, and the
    list ends only where there is none ("Pagination", all revisions). Items that are not objects are
    left out. Raises `ProtocolViolation` for what is no list, for a cursor that comes again, after
    `MAX_PAGES` pages, and when they take more than `MAX_WEIGHT` bytes; one page alone is limited as
    a message is.
    """
    items: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    seen: set[str] = set()
    weight = 0
    for _ in range(MAX_PAGES):
        result = await fetch(params)
        page = result.get(key)
        if page and not isinstance(page, list):  # an empty object is how Lua writes an empty list
            raise ProtocolViolation(f"the {key} of the server are not a list: {safe_repr(page)}")
        items += [item for item in page or () if isinstance(item, dict)]
        cursor = result.get("nextCursor")
        if cursor is None:
            return items
        weight += weight_of(result, MAX_WEIGHT)
        if weight > MAX_WEIGHT:
            size = f"{MAX_WEIGHT >> 20} MiB of memory"
            raise ProtocolViolation(f"the list of {key} exceeds {size}")
        # By the schema it is a string, but anything else is sent back, too.
        mark = safe_repr(cursor, None)
        if mark in seen:
            raise ProtocolViolation(
                f"the server gave the cursor {safe_repr(cursor)} for {key} twice"
            )
        seen.add(mark)
        params = {"cursor": cursor}
    raise ProtocolViolation(f"the list of {key} did not end within {MAX_PAGES} pages")

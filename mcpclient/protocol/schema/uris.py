"""URI references and JSON pointers, as far as `$id` and `$ref` need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

_MAX_NAME_LENGTH = 1000

# RFC 3986, appendix B, without the fragment.
_PARTS = re.compile(r"(?:([^:/?]+):)?(?://([^/?]*))?([^?]*)(?:\?(.*))?", re.DOTALL)


def resolve(base: str, reference: str) -> str:
    """The target of a reference relative to a base URI, which may be empty; neither has a fragment.

    Unlike `urllib.parse.urljoin` it does so for every scheme, ``urn:`` included.
    Source: RFC 3986, section 5.2.2.
    """
    scheme, authority, path, query = _split(reference)
    if scheme is None:
        scheme, base_authority, base_path, base_query = _split(base)
        if authority is None:
            authority = base_authority
            if not path:
                path = base_path
                query = base_query if query is None else query
            elif not path.startswith("/"):
                path = _merge(base_authority, base_path, path)
    return _unsplit(scheme, authority, _remove_dots(path), query)


def _split(uri: str) -> tuple[str | None, str | None, str, str | None]:
    match = _PARTS.fullmatch(uri)
    assert match is not None  # the expression matches every string
    scheme, authority, path, query = match.groups()
    return scheme, authority, path, query


def _merge(authority: str | None, base_path: str, path: str) -> str:
    if authority is not None and not base_path:
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def _remove_dots(path: str) -> str:
    if "." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if kept and kept != [""]:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)


def _unsplit(scheme: str | None, authority: str | None, path: str, query: str | None) -> str:
    text = path
    if authority is not None:
        text = f"//{authority}{text}"
    if scheme is not None:
        text = f"{scheme}:{text}"
    return text if query is None else f"{text}?{query}"


def split_fragment(uri: str) -> tuple[str, str]:
    """A URI without its fragment, and the fragment with percent escapes decoded."""
    absolute, _, fragment = uri.partition("#")
    return absolute, unquote(fragment)


def join_pointer(tokens: Iterable[str | int]) -> str:
    """The JSON pointer made of these member names and array indexes. Source: RFC 6901.

    It is for reading: very long names are cut, since every violation would repeat them.
    """
    escaped = [_shown(token).replace("~", "~0").replace("/", "~1") for token in tokens]
    return "".join([f"/{token}" for token in escaped])


def _shown(token: str | int) -> str:
    text = str(token)
    return text if len(text) <= _MAX_NAME_LENGTH else f"{text[:_MAX_NAME_LENGTH]}…"


def pointer_tokens(pointer: str) -> Sequence[str]:
    """The member names and array indexes of a JSON pointer: of none, where it is empty."""
    tokens = pointer[1:].split("/") if pointer else []
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]

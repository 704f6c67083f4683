"""Roots: the folders and files that the caller wants a server to stay within."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Iterable, Mapping
from pathlib import Path
from typing import Any, Callable, Union
from urllib.parse import unquote, urlsplit

from ...errors import HandlerFailed, UsageError
from ...net.paths import absolute_path
from ..events.callbacks import ask

Root = Union[str, "os.PathLike[str]", Mapping[str, Any]]
"""A path, a ``file://`` URI, or a mapping with ``uri`` and, where wanted, ``name``."""

Roots = Iterable[Root]

RootsOption = Union[Roots, Callable[[], Union[Roots, Awaitable[Roots]]]]
"""The roots, or a function, plain or async, that returns them when the server asks."""

_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class RootsAnswerer:
    """Answers ``roots/list``."""

    method = "roots/list"
    capability = "roots"

    def __init__(self, roots: RootsOption) -> None:
        self.replace(roots)

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    def replace(self, roots: RootsOption) -> None:
        """Replace the roots. Raises `UsageError` for one that is not a root."""
        self._roots: Callable[[], Any] | list[dict[str, Any]] = (
            roots if callable(roots) else _wire_roots(roots)
        )

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        if not callable(self._roots):
            return {"roots": self._roots}
        try:
            return {"roots": _wire_roots(await ask(self.method, self._roots))}
        except HandlerFailed:
            raise
        except UsageError as error:
            raise HandlerFailed(self.method, "what its handler returned is not a root") from error


def _wire_roots(roots: object) -> list[dict[str, Any]]:
    if isinstance(roots, (str, os.PathLike, Mapping)):
        raise UsageError(f"roots are a list: write roots=[{roots!r}]")
    if not isinstance(roots, Iterable):
        raise UsageError(f"roots are a list of paths or URIs, not {roots!r}")
    return [_wire_root(root) for root in roots]


def _wire_root(root: object) -> dict[str, Any]:
    if isinstance(root, Mapping):
        uri = root.get("uri")
        if not isinstance(uri, str):
            raise UsageError(f"a root has a uri: {root!r}")
        return {**root, "uri": _checked_uri(uri)}
    if isinstance(root, str) and _HAS_SCHEME.match(root):
        return {"uri": _checked_uri(root)}
    if isinstance(root, (str, os.PathLike)):
        return {"uri": Path(absolute_path(root)).as_uri()}
    raise UsageError(f"a root is a path, a file:// URI or a mapping with a uri, not {root!r}")


def _checked_uri(uri: str) -> str:
    """Return the URI of a root: a ``file://`` URI without ``..`` in it ("Security", roots)."""
    parts = urlsplit(uri)
    if parts.scheme.lower() != "file":
        raise UsageError(f"the URI of a root begins with file://: {uri!r}")
    if ".." in unquote(parts.path).replace("\\", "/").split("/"):
        raise UsageError(f"the URI of a root has no .. in it: {uri!r}")
    return uri

"""The name of a server that the caller has not named, and the place where it runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...errors import UsageError
from ...transports.base import Transport
from .targets import Target, words_of


def derive_name(target: Target) -> str:
    """Return a name for a server: of its configuration, its host's first label, or its command.

    An address has no first label and is taken whole. Raises `UsageError` for a transport of the
    caller's own, which says nothing of a name.
    """
    if isinstance(target, Mapping):
        named = target.get("name")
        if isinstance(named, str) and named:
            return named
        return derive_name(_inner_target(target))
    if isinstance(target, str) and "://" in target:
        return _host_name(target)
    words: list[str] = []
    if isinstance(target, str):
        words = [target] if os.path.isfile(target) else words_of(target)
    elif isinstance(target, os.PathLike):
        words = [os.fspath(target)]
    elif isinstance(target, Sequence):
        words = [os.fspath(word) for word in target]
    name = os.path.splitext(os.path.basename(words[0].replace("\\", "/")))[0] if words else ""
    if not name:
        raise UsageError("this server needs a name: give a mapping of names to servers")
    return name


def _inner_target(target: Mapping[str, Any]) -> Target:
    for key in ("url", "httpUrl", "serverUrl", "command"):
        if target.get(key):
            inner: Target = target[key]
            return inner
    raise UsageError("a server's configuration needs a command or a url")


def _host_name(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname
    if parts.scheme.lower() == "unix":
        host = os.path.basename(parts.path)
    if not host:
        raise UsageError("the URL of this server names no host")
    return host if host.replace(".", "").isdigit() or ":" in host else host.split(".")[0]


def name_targets(targets: Iterable[Target]) -> dict[str, Target]:
    """Return targets by derived names; a name that is taken gets ``_2``, ``_3`` and so on."""
    named: dict[str, Target] = {}
    for target in targets:
        name = unique = derive_name(target)
        number = 1
        while unique in named:
            number += 1
            unique = f"{name}_{number}"
        named[unique] = target
    return named


_INTERPRETERS = re.compile(r"(?:python[\d.]*|py|node|npx|uvx|bun|bunx|deno)(?:\.exe|\.cmd)?")


def short_name(target: Target) -> str:
    """Return the first label of a URL's host, or a command's name: its script's, if it has one."""
    if isinstance(target, list) and _INTERPRETERS.fullmatch(os.path.basename(target[0])):
        scripts = [word for word in target[1:] if not word.startswith("-")]
        return derive_name([*scripts, *target][:1])
    return derive_name(target)


def runs_here(target: Target) -> bool:
    """Return whether connecting to a target starts a process: it is a command."""
    if isinstance(target, Transport):
        return False
    if isinstance(target, Mapping):
        return not isinstance(target.get("url"), str)
    return not (isinstance(target, str) and "://" in target)

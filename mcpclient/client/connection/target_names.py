"""The names of servers that a caller gives without one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from ...errors import UsageError
from ...transports.base import Transport
from .targets import Target, destination_of


def derive_name(target: Target) -> str:
    """Return a name for a server: of its configuration, its host's first label, or its command.

    Raises `UsageError` for a target that implies no name, such as a transport.
    """
    if isinstance(target, Mapping):
        named = target.get("name")
        if isinstance(named, str) and named:
            return named
        for key in ("url", "httpUrl", "serverUrl", "command", "bundle"):
            if target.get(key):
                return derive_name(target[key])
        raise UsageError("a server's configuration needs a command or a url")
    if isinstance(target, (str, os.PathLike)) and os.path.isfile(target):
        words: str | list[str] | None = [os.fspath(target)]  # a script, without its interpreter
    else:
        words = destination_of(target)
    if isinstance(words, str):
        return _host_name(words)
    name = os.path.splitext(os.path.basename(words[0].replace("\\", "/")))[0] if words else ""
    if not name:
        raise UsageError("this server needs a name: give a mapping of names to servers")
    return name


def _host_name(url: str) -> str:
    from urllib.parse import urlsplit

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


_INTERPRETERS = r"(?:python[\d.]*|py|node|npx|uvx|bun|bunx|deno)(?:\.exe|\.cmd)?"


def short_name(target: Target) -> str:
    """Return the first label of a URL's host, or a command's name: its script's, if it has one."""
    if isinstance(target, list) and re.fullmatch(_INTERPRETERS, os.path.basename(target[0])):
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

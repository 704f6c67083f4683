"""Which scopes to ask for (MCP authorization, scope selection strategy and step-up)."""

from __future__ import annotations

import re
from collections.abc import Iterable

OFFLINE_ACCESS = "offline_access"

# Bounds what a server can make a client carry around; no known server comes near.
_MAX_SCOPES = 200
_MAX_SCOPE_LENGTH = 256
# A scope token by RFC 6749 section 3.3.
_SCOPE_TOKEN = re.compile(rf"[\x21\x23-\x5b\x5d-\x7e]{{1,{_MAX_SCOPE_LENGTH}}}")


def parse_scope(text: str) -> tuple[str, ...]:
    """The scopes in a space-separated ``text``, each once, without what cannot be a scope."""
    return union(text.split())


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """All scopes of ``groups``, each once, in the order of their first appearance."""
    valid = (scope for group in groups for scope in group if _SCOPE_TOKEN.fullmatch(scope))
    return tuple(dict.fromkeys(valid))[:_MAX_SCOPES]


def select_scopes(
    *,
    challenged: tuple[str, ...] | None,
    configured: tuple[str, ...] | None,
    resource_supported: tuple[str, ...] | None,
    server_supported: tuple[str, ...] | None,
    held: tuple[str, ...] = (),
    wants_refresh_token: bool = False,
) -> tuple[str, ...]:
    """The scopes to put into a token request; when there are none, leave the parameter out.

    The ``challenged`` scopes are what the server said the request needs. If it named none, the
    scopes of the resource's metadata (``resource_supported``) are used. Scopes that the user
    ``configured`` replace those of the metadata, and are added to those of a challenge. ``held``
    are the scopes asked for before; they are always kept, so that a step-up loses nothing.
    ``offline_access`` is added where a refresh token is wanted and the authorization server lists
    it (``server_supported``). Where that server lists its scopes without it, it is asked for only
    when a challenge or the user named it.
    """
    if challenged is None and configured is None:
        wanted = resource_supported or ()
    else:
        wanted = union(challenged or (), configured or ())
    named = union(held, challenged or (), configured or ())
    wanted = union(held, wanted)
    if server_supported is not None:
        if OFFLINE_ACCESS not in server_supported and OFFLINE_ACCESS not in named:
            return tuple(scope for scope in wanted if scope != OFFLINE_ACCESS)
        # Alone it would replace the scopes a server grants by default.
        if OFFLINE_ACCESS in server_supported and wants_refresh_token and wanted:
            return union(wanted, (OFFLINE_ACCESS,))
    return wanted

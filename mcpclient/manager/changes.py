"""What a new configuration changes: nothing else is touched when it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..config.server import ServerConfig


@dataclass(frozen=True)
class Changes:
    """Names of servers that came, went, have another configuration, or stay as they are."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def compare_servers(
    before: Mapping[str, ServerConfig], after: Mapping[str, ServerConfig]
) -> Changes:
    """Return what distinguishes two configurations, in the order of the second."""
    same = {name for name in after if name in before and same_server(before[name], after[name])}
    return Changes(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed=tuple(name for name in after if name in before and name not in same),
        unchanged=tuple(name for name in after if name in same),
    )


def same_server(one: ServerConfig, other: ServerConfig) -> bool:
    """Whether two configurations make the same connection, variables put in."""
    return one.target == other.target and _plain(vars(one)) == _plain(vars(other))


def _plain(value: object) -> object:
    """Return what can be compared; an object, such as a login, counts as its kind."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    return value if type(value).__eq__ is not object.__eq__ else type(value)

"""Resources and prompts of many servers, each with its server, and how their names are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..errors import UsageError
from ..protocol.types import Prompt, Resource
from ..similar import there_is_no

__all__ = ["ManagedPrompt", "ManagedResource", "find_resource_server", "split_prompt_name"]


class ManagedResource(Resource):
    """A resource of one of many servers; ``server`` is its name in the manager."""

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str) -> None:
        super().__init__(raw)
        self.server: str = server

    def __repr__(self) -> str:
        return f"<mcpclient.ManagedResource {self.server}:{self.uri}>"


class ManagedPrompt(Prompt):
    """A prompt of one of many servers. ``name`` is ``server:prompt``, ``raw_name`` the server's."""

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str) -> None:
        super().__init__(raw)
        self.server: str = server

    def __repr__(self) -> str:
        return f"<mcpclient.ManagedPrompt {self.name}>"

    @property
    def name(self) -> str:  # type: ignore[override]  # a field of the raw prompt elsewhere
        """The name in the manager: ``server:prompt``."""
        return f"{self.server}:{self.raw_name}"

    @property
    def raw_name(self) -> str:
        """The name by which the server knows it."""
        value = self.raw.get("name")
        return value if isinstance(value, str) else ""


def split_prompt_name(name: str, servers: Collection[str]) -> tuple[str, str]:
    """Return the server and the prompt of ``server:prompt``. Raises `UsageError`.

    A server's name may hold a colon itself: the longest one that fits is meant.
    """
    fitting = [server for server in servers if name.startswith(f"{server}:")]
    if not fitting:
        unknown = there_is_no("server", name.partition(":")[0], servers)
        raise UsageError(f"a prompt is named server:prompt, not {name!r}: {unknown}")
    server = max(fitting, key=len)
    return server, name[len(server) + 1 :]


def find_resource_server(
    uri: str, offered: Mapping[str, Collection[str]], servers: Collection[str]
) -> tuple[str, str]:
    """Return which server to read a resource from, and its URI there.

    ``offered``: the URIs that each server lists. ``server:uri`` is understood where no server has
    that URI itself. Raises `UsageError` when several servers offer it, or none is known to and
    there are several that could.
    """
    having = [server for server, uris in offered.items() if uri in uris]
    if len(having) == 1:
        return having[0], uri
    if having:
        raise UsageError(f"{uri!r} is offered by {', '.join(having)}: say server=…")
    fitting = [server for server in servers if uri.startswith(f"{server}:")]
    if fitting:
        server = max(fitting, key=len)
        return server, uri[len(server) + 1 :]
    if len(offered) == 1:
        return next(iter(offered)), uri
    raise UsageError(f"no server lists {uri!r}: say server=…")

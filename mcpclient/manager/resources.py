"""Resources and prompts of many servers, each with its server, and how their names are read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..framing.escaping import escape_line
from ..protocol.types import Prompt, Resource, ResourceTemplate
from ..suggestions import there_is_no

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class ManagedResource(Resource):
    """A resource of one of many servers; ``server`` is its name in the manager."""

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str) -> None:
        super().__init__(raw)
        self.server: str = server

    def __repr__(self) -> str:
        return escape_line(f"<mcpclient.ManagedResource {self.server}:{self.uri}>")


class ManagedResourceTemplate(ResourceTemplate):
    """A resource template of one of many servers; ``server`` is its name in the manager."""

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str) -> None:
        super().__init__(raw)
        self.server: str = server

    def __repr__(self) -> str:
        return escape_line(f"<mcpclient.ManagedResourceTemplate {self.server}:{self.uri_template}>")


class ManagedPrompt(Prompt):
    """A prompt of one of many servers. ``name`` is ``server:prompt``, ``raw_name`` the server's."""

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str) -> None:
        super().__init__(raw)
        self.server: str = server

    def __repr__(self) -> str:
        return escape_line(f"<mcpclient.ManagedPrompt {self.name}>")

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
    """Return the server and the prompt of ``server:prompt``.

    Raises `UsageError` when no server's name fits, and when several do, since names may hold colons
    themselves: nothing says whose prompt is meant.
    """
    fitting = [server for server in servers if name.startswith(f"{server}:")]
    if not fitting:
        unknown = there_is_no("server", name.partition(":")[0], servers)
        raise UsageError(f"a prompt is named server:prompt, not {name!r}: {unknown}")
    if len(fitting) > 1:
        raise UsageError(f"{name!r} may be a prompt of {', '.join(fitting)}: say server=…")
    return fitting[0], name[len(fitting[0]) + 1 :]


def find_resource_server(
    uri: str,
    listed: Mapping[str, Collection[str]],
    servers: Collection[str],
    unsure: Sequence[str] = (),
) -> tuple[str, str]:
    """Return which server to read a resource from, and its URI there.

    ``listed``: the URIs that each server lists, or has listed last. ``unsure``: servers whose lists
    are not known. ``server:uri`` is understood as well, where the rest is a URI itself: a server
    called ``https`` owns no web page. Raises `UsageError` where more than one meaning is possible.
    """
    meanings = [(server, uri) for server, uris in listed.items() if uri in uris]
    named = [(server, uri[len(server) + 1 :]) for server in servers if uri.startswith(f"{server}:")]
    is_named = [each for each in named if _SCHEME.match(each[1])]
    meanings += is_named
    if len(meanings) > 1:
        owners = ", ".join(server for server, _ in meanings)
        raise UsageError(f"{uri!r} may be of {owners}: say server=…")
    if not is_named and unsure:
        unknown = ", ".join(unsure)
        raise UsageError(f"{uri!r} may be of {unknown}, which has not listed any: say server=…")
    if meanings:
        return meanings[0]
    if len(listed) == 1:
        return next(iter(listed)), uri
    raise UsageError(f"no server lists {uri!r}: say server=…")

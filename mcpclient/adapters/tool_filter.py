"""The patterns of a toolbox: which tools a model gets, and the resources of which servers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..manager.naming import any_pattern, fits_pair, fits_server
from ..protocol.types import Tool
from .definitions import is_for_models


class ToolFilter(NamedTuple):
    """The options ``include`` and ``exclude`` of a toolbox."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]

    def admits(self, tool: Tool) -> bool:
        """Whether a model gets a tool of a server."""
        if not is_for_models(tool) or not any(_fits_tool(each, tool) for each in self.include):
            return False
        return not any(_fits_or_names(each, tool) for each in self.exclude)

    def admits_resources(self, server: str | None, name: str) -> bool:
        """Whether the tool ``name`` of this library may reach the resources of a server.

        ``server``: None for a client's only one. An exclusion may be of that tool, of a server, or
        of both; an inclusion only selects servers, since the tool itself was asked for.
        """
        is_included = server is None or any(fits_server(each, server) for each in self.include)
        return is_included and not any(_fits(each, server, name) for each in self.exclude)

    def unfit(
        self, tools: Collection[Tool], servers: Collection[str | None]
    ) -> Iterator[str | None]:
        """Yield a sentence for each pattern that fits no tool, and None after other steps.

        ``servers``: those whose resources can be offered, which a pattern may be about.
        """
        own = [(server, name) for server in servers for name in ("list_resources", "read_resource")]
        for option, patterns in (("include", self.include), ("exclude", self.exclude)):
            fits = _fits_tool if option == "include" else _fits_or_names
            for pattern in patterns:
                for tool in tools:
                    if fits(pattern, tool):
                        break
                    yield None
                else:
                    if not any(_fits(pattern, *each) for each in own):
                        yield (
                            f"{option}: no tool fits {pattern!r}; a pattern is server/tool, or the "
                            "tool's own name on any server"
                        )


def _fits(pattern: str, server: str | None, name: str) -> bool:
    if server is None:  # a client has one server's tools
        return any_pattern((pattern,)).match(name) is not None
    return fits_pair(pattern, server, name)


def _fits_tool(pattern: str, tool: Tool) -> bool:
    return _fits(pattern, getattr(tool, "server", None), getattr(tool, "raw_name", tool.name))


def _fits_or_names(pattern: str, tool: Tool) -> bool:
    """Whether a pattern fits a tool, or its name for the model: that cannot let a tool in."""
    return any_pattern((pattern,)).match(tool.name) is not None or _fits_tool(pattern, tool)

"""The ways in which the tools of a server may be named among those of others."""

from __future__ import annotations

from typing import Callable, Literal, Union

NamingStyle = Literal["server__tool", "mcp__server__tool", "server_tool", "tool"]

NAMING_STYLES: tuple[NamingStyle, ...] = (
    "server__tool",
    "mcp__server__tool",
    "server_tool",
    "tool",
)

Naming = Union[NamingStyle, Callable[[str, str], str]]
"""One of the styles, or a function that takes the server's name and the tool's."""

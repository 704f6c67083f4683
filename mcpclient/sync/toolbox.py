"""The tools of a blocking client or manager, ready for one model API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..adapters import agent_tools
from ..adapters import toolbox as asynchronous
from .client import Blocking, Owned, twin_of
from .handlers import with_workers

if TYPE_CHECKING:
    from ..adapters.model_api import Provider
    from ..adapters.toolbox import ToolboxOptions
    from ..protocol.types import Tool
    from ..typing_compat import Unpack


class AgentTool(Blocking, of=agent_tools.AgentTool):
    """A tool that describes itself and can be executed. See `mcpclient.AgentTool`."""

    tool: Tool


class Toolbox(Blocking, of=asynchronous.Toolbox):
    """Tools for a model, and the answers to its calls. See `mcpclient.Toolbox`.

    ``source``: the `Client` or `Manager` that has the tools, which are listed at once.
    """

    def __init__(
        self,
        source: Owned,
        provider: str | Provider,
        **options: Unpack[ToolboxOptions],
    ) -> None:
        self._object = self._class(source._object, provider, **with_workers({**options}))
        self.refresh()

    @property
    def agent_tools(self) -> list[AgentTool]:
        """The same tools for a program that calls models in its own way."""
        return [twin_of(tool, self) for tool in self._object.agent_tools]

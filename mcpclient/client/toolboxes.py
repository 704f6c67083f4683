"""The way from a client, or a manager, to the tools of a language model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..adapters.providers import Provider
    from ..adapters.toolbox import Toolbox, ToolboxOptions
    from ..new_typing import Unpack

__all__ = ["Toolboxes"]


class Toolboxes:
    """What has tools that a model can be given."""

    def toolbox(self, provider: str | Provider, **options: Unpack[ToolboxOptions]) -> Toolbox:
        """Return the tools for one model API, and what answers the model's calls. See `Toolbox`.

        ``provider``: ``"anthropic"``, ``"openai_chat"``, ``"openai_responses"``, ``"google"`` or
        ``"bedrock"``. Await the toolbox once, so that it has the tools. Raises `UsageError`.
        """
        adapters: Any = import_module("..adapters.toolbox", __package__)
        made: Toolbox = adapters.Toolbox(self, provider, **options)
        return made

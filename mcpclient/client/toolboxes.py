"""The way from a client, or a manager, to the tools of a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..lazy import OnDemand

if TYPE_CHECKING:
    from ..adapters import toolbox as toolboxes
    from ..adapters.providers import Provider
    from ..typing_compat import Unpack
else:
    toolboxes = OnDemand("..adapters.toolbox", __name__)


class Toolboxes:
    """What has tools that a model can be given."""

    def toolbox(
        self, provider: str | Provider, **options: Unpack[toolboxes.ToolboxOptions]
    ) -> toolboxes.Toolbox:
        """Return the tools for one model API, and what answers the model's calls. See `Toolbox`.

        ``provider``: ``"anthropic"``, ``"openai_chat"``, ``"openai_responses"``, ``"google"`` or
        ``"bedrock"``. Await the toolbox once, so that it has the tools. Raises `UsageError`.
        """
        source: Any = self  # a client or a manager, which have more than this class
        return toolboxes.Toolbox(source, provider, **options)

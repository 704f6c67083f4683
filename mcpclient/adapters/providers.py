"""The model APIs by name. Each is a module of pure functions; another may be given in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, Protocol

from ..errors import UsageError
from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from ..suggestions import there_are, there_is_no
from . import anthropic, bedrock, google, openai_chat, openai_responses
from .definitions import ToolDefinitions
from .limits import Limits
from .parts import Outcome
from .tool_calls import ToolCall


class Provider(Protocol):
    """What there is for every model API; the module `anthropic` is one."""

    def tools(
        self,
        tools: Iterable[Tool],
        *,
        strict: bool = False,
        inline_refs: bool | None = None,
        defer: Callable[[Tool], bool] | None = None,
    ) -> ToolDefinitions:
        """Return the definitions of tools for a request."""
        ...

    def calls(self, response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
        """Return the calls in a response."""
        ...

    def results(
        self, pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
    ) -> list[dict[str, Any]]:
        """Return the messages that answer calls."""
        ...

    def messages(self, prompt: GetPromptResult) -> list[dict[str, Any]]:
        """Return the messages of a prompt."""
        ...

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of the SDK's function for what a server asks of a model."""
        ...

    def answer(self, response: object, sampling: SamplingRequest) -> dict[str, Any]:
        """Return a response as the answer to what a server asked."""
        ...


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "google": google,
    "bedrock": bedrock,
}


def provider_of(named: str | Provider) -> Provider:
    """Return the provider of a name, or what was given instead of one. Raises `UsageError`."""
    if not isinstance(named, str):
        return named
    if named not in PROVIDERS:
        otherwise = there_are(PROVIDERS)
        raise UsageError(there_is_no("provider", named, PROVIDERS, otherwise=otherwise))
    return PROVIDERS[named]

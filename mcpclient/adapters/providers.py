"""The model APIs by name, and models that answer sampling requests."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Protocol

from ..errors import HandlerFailed, UsageError
from ..lazy import OnDemand
from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from ..suggestions import there_are, there_is_no
from . import anthropic, bedrock, google, openai_chat, openai_responses
from .definitions import ToolDefinitions
from .limits import Limits
from .parts import Outcome
from .tool_calls import ToolCall

if TYPE_CHECKING:
    from ..client.answers import sampling as answers
else:  # a copy vendored without the part "answers" still has toolboxes
    answers = OnDemand("..client.answers.sampling", __name__)


class Provider(Protocol):
    """The functions for a model API: a module such as `anthropic`, or an object of your own."""

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
        """Return the messages with the results of calls."""
        ...

    def messages(self, prompt: GetPromptResult) -> list[dict[str, Any]]:
        """Return the messages of a prompt."""
        ...

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of the SDK's function for a sampling request."""
        ...

    def answer(self, response: object, sampling: SamplingRequest) -> dict[str, Any]:
        """Return a response as the result of a sampling request."""
        ...


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "google": google,
    "bedrock": bedrock,
}


def provider_of(named: str | Provider) -> Provider:
    """Return a provider by name; an object is returned as is. Raises `UsageError`."""
    if not isinstance(named, str):
        return named
    if named not in PROVIDERS:
        otherwise = there_are(PROVIDERS)
        raise UsageError(there_is_no("provider", named, PROVIDERS, otherwise=otherwise))
    return PROVIDERS[named]


def sampling_model(
    provider: str | Provider, model: str, create: Callable[..., Any], *, tools: bool = True
) -> answers.Sampling:
    """Return a model of a provider as the option ``sampling`` of `connect`.

    ``create``: the function of the provider's SDK that calls a model, plain or async, called with
    keyword arguments only. A plain function blocks the event loop while it runs:

    - ``"anthropic"``: ``client.messages.create``
    - ``"openai_chat"``: ``client.chat.completions.create``
    - ``"openai_responses"``: ``client.responses.create``
    - ``"google"``: ``client.aio.models.generate_content``
    - ``"bedrock"``: ``client.converse``

    Your own function around it may inspect the request first, ask the user, and return None to
    reject it. ``model``: the name of the model, regardless of the server's preferences. ``tools``:
    whether the model gets the tools of the request.
    """
    adapter = provider_of(provider)

    async def answer(request: SamplingRequest) -> object:
        response = create(**adapter.request(request, model))
        if inspect.isawaitable(response):
            response = await response
        if response is None:
            return None
        try:
            found = adapter.answer(response, request)
        except (UsageError, ValueError) as error:
            reason = f"the model's response is invalid: {error}"
            raise HandlerFailed(answers.SamplingAnswerer.method, reason) from error
        return {**found, "model": found.get("model") or model}

    return answers.Sampling(answer, tools=tools)

"""The model APIs by name, and models that answer sampling requests."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable

from ..errors import HandlerFailed, UsageError
from ..protocol.sampling import SamplingRequest
from ..suggestions import there_are, there_is_no
from . import anthropic, bedrock, google, openai_chat, openai_responses
from .limits import without_surrogates
from .model_api import Provider

if TYPE_CHECKING:
    from ..client.answers.answerers import Sampling

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
) -> Sampling:
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
    from ..client.answers.answerers import Sampling

    adapter = provider_of(provider)

    async def answer(request: SamplingRequest) -> object:
        response = create(**without_surrogates(adapter.request(request, model)))
        if inspect.isawaitable(response):
            response = await response
        if response is None:
            return None
        try:
            found = adapter.answer(response, request)
        except (UsageError, ValueError) as error:
            from ..client.answers.answerers import SamplingAnswerer

            reason = f"the model's response is invalid: {error}"
            raise HandlerFailed(SamplingAnswerer.method, reason) from error
        return {**found, "model": found.get("model") or model}

    return Sampling(answer, tools=tools)

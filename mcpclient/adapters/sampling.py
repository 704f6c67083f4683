"""A model of one of the providers, answering what servers ask of a language model."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..client.answers.sampling import Sampling, SamplingAnswerer
from ..errors import HandlerFailed, UsageError
from ..protocol.sampling import SamplingRequest
from .providers import Provider, provider_of


def sampling_model(
    provider: str | Provider, model: str, create: Callable[..., Any], *, tools: bool = True
) -> Sampling:
    """Return what ``sampling=`` of `connect` takes: a model of a provider.

    ``create`` is the function of the provider's SDK that asks a model, plain or async, called with
    keyword arguments only; a plain one blocks the event loop while it runs:

    - ``"anthropic"``: ``client.messages.create``
    - ``"openai_chat"``: ``client.chat.completions.create``
    - ``"openai_responses"``: ``client.responses.create``
    - ``"google"``: ``client.aio.models.generate_content``
    - ``"bedrock"``: ``client.converse``

    A function of one's own around it may look at the request first, ask the user, and return None
    to reject it. ``model``: its name, whatever the server would like. ``tools``: the model is given
    the tools of the request.
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
            reason = f"the model's answer is invalid: {error}"
            raise HandlerFailed(SamplingAnswerer.method, reason) from error
        return {**found, "model": found.get("model") or model}

    return Sampling(answer, tools=tools)

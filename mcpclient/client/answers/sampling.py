"""Sampling: the server asks the caller's language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Union

from ...errors import HandlerFailed, UsageError
from ...lazy import OnDemand
from ...protocol.sampling import SamplingRequest, check_request, result_of
from ..events.callbacks import ask

if TYPE_CHECKING:
    from ...adapters import openai_chat
else:
    openai_chat = OnDemand("...adapters.openai_chat", __name__)

# The error that a server gets when the user refuses, as the specification has it.
_REJECTED = -1
_REJECTION = "User rejected sampling request"

SamplingHandler = Callable[[SamplingRequest], Any]
"""Takes a `SamplingRequest`; plain or async."""

Complete = Callable[[list[dict[str, Any]], dict[str, Any]], Any]
"""Takes chat messages and options; plain or async."""


@dataclass(frozen=True)
class Sampling:
    """A sampling handler, and which optional parts of sampling it supports.

    ``answer`` takes a `SamplingRequest` and returns the text of the answer, or a mapping with
    ``content`` (text, a block as the protocol has it, or a list of blocks), and ``model`` and
    ``stopReason`` where they are known; None when the user rejects the request. ``tools``: it gives
    the model the tools of the request. ``context``: it respects ``include_context`` (deprecated).
    """

    answer: SamplingHandler
    tools: bool = False
    context: bool = False


@dataclass(frozen=True)
class SamplingModel:
    """A language model that answers sampling: its name, and a function that calls it.

    ``complete(messages, options)``, plain or async, takes the conversation as chat messages
    (``role`` and ``content``, in the form of chat completions) and, by the names of chat
    completions, what else was asked for (``model``, ``max_tokens``, …). It returns text, an
    assistant's message, or a whole response with ``choices``, each as a dict or as the object that
    an SDK makes of it (with ``model_dump``); None rejects the request.
    A ``finish_reason`` in it is translated: ``stop`` to ``endTurn``, ``length`` to
    ``maxTokens``, ``tool_calls`` to ``toolUse``. ``tools``: it passes tools on to the model.
    """

    model: str
    complete: Complete
    tools: bool = False

    async def answer(self, request: SamplingRequest) -> object:
        """Ask the model."""
        options = openai_chat.request(request, self.model)
        if "max_completion_tokens" in options:  # the name that all compatible APIs know
            options["max_tokens"] = options.pop("max_completion_tokens")
        messages = options.pop("messages")
        answer = await ask(SamplingAnswerer.method, self.complete, messages, options)
        if answer is None:
            return None
        try:
            message = {"content": answer} if isinstance(answer, str) else answer
            found = openai_chat.answer(message, request)
        except (UsageError, ValueError) as error:
            raise _unfit(error) from None
        return {**found, "model": found["model"] or self.model}


SamplingOption = Union[SamplingHandler, Sampling, SamplingModel, Mapping[str, Any]]
"""A function, or one of the records; a mapping has the fields of a `SamplingModel`."""


class SamplingAnswerer:
    """Answers ``sampling/createMessage``."""

    method = "sampling/createMessage"
    capability = "sampling"

    def __init__(self, option: SamplingOption) -> None:
        self._sampling = _sampling_of(option)

    @property
    def settings(self) -> dict[str, Any]:
        supported = {"tools": self._sampling.tools, "context": self._sampling.context}
        return {name: {} for name, is_supported in supported.items() if is_supported}

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        request = SamplingRequest(params, server)
        check_request(request, tools=self._sampling.tools)
        answer = await ask(self.method, self._sampling.answer, request)
        if answer is None:
            raise HandlerFailed(self.method, _REJECTION, _REJECTED)
        try:
            return result_of(answer)
        except ValueError as error:
            raise _unfit(error) from None


def _sampling_of(option: SamplingOption) -> Sampling:
    if isinstance(option, Mapping):
        try:
            option = SamplingModel(**option)
        except TypeError:
            raise UsageError(
                "sampling as a mapping has model, complete and, where supported, tools"
            ) from None
    if isinstance(option, SamplingModel):
        return Sampling(option.answer, tools=option.tools)
    if isinstance(option, Sampling):
        return option
    if not callable(option):
        raise UsageError(f"sampling is a function, or a model to ask, not {option!r}")
    return Sampling(option)


def _unfit(problem: Exception) -> HandlerFailed:
    return HandlerFailed(SamplingAnswerer.method, f"invalid sampling result: {problem}")

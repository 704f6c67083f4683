"""Sampling: the server asks the client for the answer of a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, Union

from ...errors import HandlerFailed, UsageError
from ...protocol.sampling import SamplingRequest, check_request, result_of
from .asking import ask
from .chat import answer_from_chat, chat_messages, chat_options

# What a server is told when the user says no, as the specification has it.
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
        answer = await ask(
            SamplingAnswerer.method,
            self.complete,
            chat_messages(request),
            chat_options(request, self.model),
        )
        try:
            answer = answer_from_chat(answer)
        except ValueError as error:
            raise _unfit(error) from None
        if isinstance(answer, str):
            return {"content": answer, "model": self.model}
        if isinstance(answer, Mapping):
            return {**answer, "model": answer.get("model") or self.model}
        return answer


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
        """``tools`` and ``context`` where they are supported."""
        supported = {"tools": self._sampling.tools, "context": self._sampling.context}
        return {name: {} for name, is_supported in supported.items() if is_supported}

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        """Let the handler answer."""
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


def _unfit(problem: ValueError) -> HandlerFailed:
    return HandlerFailed(SamplingAnswerer.method, f"invalid sampling result: {problem}")

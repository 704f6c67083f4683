"""The conversion of tools, calls and messages, shared by all model APIs.

Each API is a subclass with its own rules and shapes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Callable, ClassVar, Protocol

from ..errors import UsageError
from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from .definitions import (
    Definition,
    DefinitionRules,
    RawCall,
    ToolCall,
    ToolDefinitions,
    ToolProblem,
    define,
    first_present,
    plain,
    read_calls,
)
from .limits import Limits, MediaRules
from .parts import Item, Outcome, Part, Prepared, Turn, made_results, names_of, turns_of


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
        """Return the value of ``tools`` in a request.

        ``strict``: use strict mode for each tool whose schema fits it, within the limits of a
        request. ``defer``: the tools that the model has to search for, with the API's own search
        tool. ``problems`` gives the reason for each tool that is not strict, and notes an API
        without these modes.
        """
        ...

    def calls(self, response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
        """Return the calls in a response, or in a message of the model. See `read_calls`.

        Raises `UsageError` for anything else.
        """
        ...

    def results(
        self, pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
    ) -> list[dict[str, Any]]:
        """Return the messages to append, with a result for every call."""
        ...

    def messages(self, prompt: GetPromptResult) -> list[dict[str, Any]]:
        """Return the messages of a prompt."""
        ...

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of the SDK's function for a sampling request.

        Options that the API does not support are left out.
        """
        ...

    def answer(self, response: object, sampling: SamplingRequest) -> dict[str, Any]:
        """Return a response as the result of a sampling request."""
        ...


class ModelApi(Provider, ABC):
    """A model API.

    ``media``: the media accepted in results and messages of the user; ``media_of_model``: those in
    messages of the model. ``roles``: the names of the user and the model. ``content``: the key of
    the content in a message. ``joins_results``: whether the API refuses two results of one id.
    ``search``: the definition of the API's own search for tools. ``schema``: the key of the schema
    in a definition.
    """

    name: str
    rules: DefinitionRules
    media: MediaRules
    media_of_model: MediaRules = MediaRules()
    roles: tuple[str, str] = ("user", "assistant")
    content: str = "content"
    schema: str = "parameters"
    joins_results: bool = False
    search: ClassVar[Mapping[str, Any]] = {}

    def tools(
        self,
        tools: Iterable[Tool],
        *,
        strict: bool = False,
        inline_refs: bool | None = None,
        defer: Callable[[Tool], bool] | None = None,
    ) -> ToolDefinitions:
        made = ToolDefinitions()
        for _ in self.convert(made, tools, strict=strict, inline_refs=inline_refs, defer=defer):
            pass
        return made

    def convert(
        self, made: ToolDefinitions, tools: Iterable[Tool], **options: Any
    ) -> Iterator[None]:
        """Fill ``made`` as `tools` does, a step at a time: other work may come between."""
        yield from define(made, tools, self.rules, **options)
        for one in made.defined:
            yield
            name = one.binding.tool.name
            made.problems += [ToolProblem(name, note) for note in one.notes]
            made.bindings[one.name] = one.binding
            made.written.append(self._definition(one))
        made[:] = self._listing(made)

    def calls(self, response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
        said = self._said(response)
        return read_calls([item for item in said if isinstance(item, RawCall)], tools)

    def results(
        self, pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
    ) -> list[dict[str, Any]]:
        return self._results(made_results(pairs, limits, self.media, self.joins_results))

    def messages(self, prompt: GetPromptResult) -> list[dict[str, Any]]:
        return self._messages(turns_of(prompt.messages, self.media, of_model=self.media_of_model))

    def answer(self, response: object, sampling: SamplingRequest) -> dict[str, Any]:
        whole = plain(response)
        said = list(self._said(whole))
        raw = [item for item in said if isinstance(item, RawCall)]
        calls = iter(zip(raw, read_calls(raw, self.tools(sampling.tools))))
        content: list[dict[str, Any]] = []
        for number, item in enumerate(said):
            if isinstance(item, str):
                content.append({"type": "text", "text": item})
            else:
                made, call = next(calls)
                use, meta = call.as_tool_use(), {"_meta": made.meta} if made.meta else {}
                content.append({**use, "id": use["id"] or f"call_{number}", **meta})
        return {
            "content": content or "",
            "model": first_present(whole, "model", "modelVersion", "model_version"),
            "stop_reason": self._stop_reason(whole),
        }

    # Reading

    @abstractmethod
    def _said(self, response: object) -> Iterator[str | RawCall]:
        """Yield the strings and the calls of a response."""

    def _stop_reason(self, response: Any) -> Any:
        return first_present(response, "stop_reason", "stopReason")

    def _listed(self, content: object, key: str, response: object) -> list[Any]:
        """Return the list that the content of a response is, or has under a key, as plain data."""
        found = content if isinstance(content, list) else first_present(content, key)
        if not isinstance(found, list):
            raise self._unreadable(key, response)
        return list(map(plain, found))

    def _unreadable(self, expected: str, response: object) -> UsageError:
        kind = type(response).__name__
        return UsageError(f"not a response of {self.name}: it has no {expected} (it is a {kind})")

    # Writing

    def _listing(self, made: ToolDefinitions) -> list[dict[str, Any]]:
        searched = [dict(self.search)] if any(map(attrgetter("deferred"), made.defined)) else []
        return [*searched, *made.written]

    def _definition(self, definition: Definition) -> dict[str, Any]:
        return {
            "name": definition.name,
            "description": definition.description,
            self.schema: definition.schema,
            **({"strict": True} if definition.strict else {}),
            **({"defer_loading": True} if definition.deferred else {}),
        }

    @abstractmethod
    def _part(self, part: Part) -> dict[str, Any]: ...

    @abstractmethod
    def _call(self, call: RawCall) -> dict[str, Any]: ...

    @abstractmethod
    def _result(self, result: Prepared) -> dict[str, Any]: ...

    def _item(self, item: Item) -> dict[str, Any]:
        if isinstance(item, Prepared):
            return self._result(item)
        return self._call(item) if isinstance(item, RawCall) else self._part(item)

    def _results(self, made: list[Prepared]) -> list[dict[str, Any]]:
        blocks = [self._result(result) for result in made]
        return [{"role": self.roles[0], self.content: blocks}] if blocks else []

    def _messages(self, turns: Iterable[Turn]) -> list[dict[str, Any]]:
        return [
            {
                "role": self.roles[turn.of_model],
                self.content: [self._item(item) for item in turn.items],
            }
            for turn in turns
        ]

    def _turns(self, sampling: SamplingRequest) -> list[Turn]:
        names = names_of(sampling, self.rules.names)
        return turns_of(sampling.messages, self.media, names, of_model=self.media_of_model)


def given(**members: Any) -> dict[str, Any]:
    """Return the members that are not None and not empty."""
    return {name: value for name, value in members.items() if value not in (None, "", [])}

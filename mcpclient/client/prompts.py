"""The client's interface to prompts, and to the completion of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from ..protocol.types import Completion, GetPromptResult, Prompt, ResourceTemplate
from .connection.limits import DEFAULT, Seconds
from .connection.requests import Requests, checked_arguments

if TYPE_CHECKING:
    from .events.around import Around

Reference = Union[Prompt, ResourceTemplate, Mapping[str, Any]]
"""What has the argument to complete: a prompt, a resource template, or a wire reference."""


class Prompts(Requests):
    """Listing prompts, filling them in, and completing arguments."""

    async def list_prompts(
        self,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        fresh: bool = False,
    ) -> list[Prompt]:
        """Return the prompts of all pages. The options are those of `request`, which it calls."""
        items = await self._list("prompts/list", "prompts", timeout, fresh, meta=meta)
        return [Prompt(item) for item in items]

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        around: Sequence[Around] = (),
    ) -> GetPromptResult:
        """Return a prompt, filled in with the arguments. The options are those of `request`."""
        params: dict[str, Any] = {"name": name}
        if checked_arguments(arguments):
            params["arguments"] = arguments
        result = await self.request(
            "prompts/get", params, timeout=timeout, meta=meta, around=around
        )
        return GetPromptResult(result)

    async def complete(
        self,
        reference: Reference,
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Return suggestions for an argument of a prompt or a resource template.

        ``reference``: the `Prompt` or `ResourceTemplate`, or a reference as the protocol has it,
        such as ``{"type": "ref/prompt", "name": …}``. ``value``: what has been typed so far.
        ``context``: the arguments that are already known. The other options are those of `request`.
        """
        params: dict[str, Any] = {
            "ref": _wire_reference(reference),
            "argument": {"name": argument, "value": value},
        }
        if context:
            params["context"] = {"arguments": context}
        result = await self.request("completion/complete", params, timeout=timeout, meta=meta)
        completion = result.get("completion")
        return Completion(completion if isinstance(completion, dict) else {})


def _wire_reference(reference: Reference) -> Mapping[str, Any]:
    if isinstance(reference, Prompt):
        return {"type": "ref/prompt", "name": reference.name}
    if isinstance(reference, ResourceTemplate):
        return {"type": "ref/resource", "uri": reference.uri_template}
    return reference

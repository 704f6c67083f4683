"""The steps of a script through a client of the Python SDK, whichever major version.

The drivers run in the SDK's own environment, so they import nothing of this repository that needs
another. They print what `steps.mjs` prints.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Callable

from mcp import types
from pydantic import BaseModel

from conformance.capture.notes import note


def wire(value: BaseModel) -> dict[str, Any]:
    """Return a model as the server has sent it."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Answers:
    """The answers of the user to the requests of one kind, in order, the last again and again."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self._left = list(answers)

    def next(self) -> dict[str, Any]:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


class ScriptedUser:
    """Does the steps of a script; a subclass has a method for each that asks the server."""

    client: Any

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self.settings = script["client"]
        self.roots = self.settings.get("roots", [])
        self._number = 0
        self._told: Counter[str] = Counter()
        self._change = asyncio.Event()

    def failure_of(self, error: Exception) -> dict[str, Any]:
        """Return an outcome that is not a result."""
        raise NotImplementedError

    def callbacks(self) -> dict[str, Any]:
        """Return the arguments of a client for the capabilities in the script."""
        declared = self.settings.get("capabilities", {})
        options: dict[str, Any] = {"message_handler": self.take}
        if "sampling" in declared:
            options["sampling_callback"] = self._in_order("sampling", types.CreateMessageResult)
            options["sampling_capabilities"] = types.SamplingCapability(**declared["sampling"])
        if "elicitation" in declared:
            options["elicitation_callback"] = self._in_order("elicitation", types.ElicitResult)
        if "roots" in declared:
            options["list_roots_callback"] = self._list_roots
        return options

    def _in_order(self, kind: str, result: type[BaseModel]) -> Callable[..., Any]:
        answers = Answers(self.settings.get(kind, []))

        async def answer(context: Any, params: Any) -> Any:
            found = answers.next()
            if "error" in found:
                return types.ErrorData(**found["error"])
            with_tools = isinstance(found.get("content"), list)
            return (types.CreateMessageResultWithTools if with_tools else result)(**found)

        return answer

    async def _list_roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": self.roots})

    async def take(self, message: Any) -> None:
        """Record a message that the client hands on."""
        raise NotImplementedError

    def is_told(self, notification: dict[str, Any]) -> None:
        """Record a notification of the server's."""
        if notification["method"] == "notifications/progress":
            return
        told = {name: notification[name] for name in ("method", "params") if name in notification}
        note({"notification": told})
        self._told[told["method"]] += 1
        self._change.set()

    async def run(self) -> None:
        for step in self._script["steps"]:
            await self.do(step)

    async def do(self, step: dict[str, Any]) -> None:
        number, self._number = self._number, self._number + 1
        note({"step": number, "do": step["do"], "begins": True})
        progress: list[dict[str, Any]] = []
        try:
            outcome: dict[str, Any] = {"result": await getattr(self, step["do"])(step, progress)}
        except Exception as error:
            outcome = self.failure_of(error)
        if progress:
            outcome["progress"] = progress
        note({"step": number, "outcome": outcome})

    async def page(self, method: Callable[..., Any], cursor: str | None) -> tuple[Any, str | None]:
        """Ask for one page of a list; return it, and the cursor of the next."""
        raise NotImplementedError

    def timeout(self, seconds: float) -> Any:
        """Return seconds as the client takes them."""
        return seconds

    async def _pages(self, kind: str) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page, cursor = await self.page(getattr(self.client, f"list_{kind}"), cursor)
            # Named as on the wire, whatever the attribute is called.
            found += next(value for value in wire(page).values() if isinstance(value, list))
            if cursor is None:
                return found

    async def list_tools(self, step: Any, progress: Any) -> Any:
        return await self._pages("tools")

    async def list_resources(self, step: Any, progress: Any) -> Any:
        return await self._pages("resources")

    async def list_resource_templates(self, step: Any, progress: Any) -> Any:
        return await self._pages("resource_templates")

    async def list_prompts(self, step: Any, progress: Any) -> Any:
        return await self._pages("prompts")

    async def call_tool(self, step: Any, progress: list[dict[str, Any]]) -> Any:
        options: dict[str, Any] = {}
        if step.get("progress"):
            options["progress_callback"] = _reporting(progress)
        if "timeout" in step:
            options["read_timeout_seconds"] = self.timeout(step["timeout"])
        return wire(await self.client.call_tool(step["name"], step["arguments"], **options))

    async def get_prompt(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.get_prompt(step["name"], step.get("arguments")))

    async def complete(self, step: Any, progress: Any) -> Any:
        kinds = {
            "ref/prompt": types.PromptReference,
            "ref/resource": types.ResourceTemplateReference,
        }
        reference = kinds[step["ref"]["type"]](**step["ref"])
        argument = {"name": step["argument"], "value": step["value"]}
        return wire(await self.client.complete(reference, argument, step.get("context")))

    async def together(self, step: Any, progress: Any) -> Any:
        await asyncio.gather(*map(self.do, step["steps"]))
        return {}

    async def wait_for(self, step: Any, progress: Any) -> Any:
        while self._told[step["method"]] < step["count"]:
            self._change.clear()
            await self._change.wait()
        return {}


def _reporting(progress: list[dict[str, Any]]) -> Any:
    """Return a callback that notes the progress of a call."""

    async def report(done: float, total: float | None, message: str | None) -> None:
        members = {"progress": done, "total": total, "message": message}
        progress.append({name: value for name, value in members.items() if value is not None})

    return report

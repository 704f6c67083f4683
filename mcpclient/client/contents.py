"""Resources, prompts, completions and skills of a server, and listening for their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from ..errors import ProtocolViolation, SkillVerificationError, UsageError
from ..protocol.negotiation import SKILLS, extensions_of
from ..protocol.types import (
    Completion,
    GetPromptResult,
    Prompt,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
)
from .listed_tools import checked_arguments
from .tool_calls import ToolCalls

if TYPE_CHECKING:
    from ..formats.uri_template import TemplateValue
    from ..protocol.skills import LoadedSkill, Skill
    from ..typing_compat import Unpack
    from .connection.client_options import QueryOptions
    from .subscription import Subscription

Reference = Union[Prompt, ResourceTemplate, Mapping[str, Any]]
"""The owner of the argument to complete: a prompt, a resource template, or a wire reference."""


class Contents(ToolCalls):
    """Resources, prompts, completions and skills. Nothing is fetched before it is asked for.

    A skill is untrusted input for a model: a digest that fits only shows that this server does not
    contradict itself. It is up to the program to ask the user for approval, of one skill and the
    files that its entry lists, and again when these change.
    """

    # Resources

    async def list_resources(self, **options: Unpack[QueryOptions]) -> list[Resource]:
        """Return the resources of all pages. For the options see `request`, which it calls."""
        return [Resource(item) for item in await self._list("resources/list", "resources", options)]

    async def list_resource_templates(
        self, **options: Unpack[QueryOptions]
    ) -> list[ResourceTemplate]:
        """Return the resource templates of all pages. For the options see `request`."""
        items = await self._list("resources/templates/list", "resourceTemplates", options)
        return [ResourceTemplate(item) for item in items]

    async def read_resource(
        self,
        uri: str | ResourceTemplate,
        variables: Mapping[str, TemplateValue] | None = None,
        **options: Unpack[QueryOptions],
    ) -> ReadResourceResult:
        """Read a resource, given its URI, or a template and the values of its variables.

        For the other options see `request`, which it calls. Also raises what
        `ResourceTemplate.expand` does.
        """
        if isinstance(uri, ResourceTemplate):
            uri = uri.expand(**checked_arguments(variables))
        elif variables is not None:
            raise UsageError("variables are for a ResourceTemplate, not for a URI")
        return ReadResourceResult(await self.request("resources/read", {"uri": uri}, **options))

    # Prompts

    async def list_prompts(self, **options: Unpack[QueryOptions]) -> list[Prompt]:
        """Return the prompts of all pages. For the options see `request`, which it calls."""
        return [Prompt(item) for item in await self._list("prompts/list", "prompts", options)]

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Unpack[QueryOptions]
    ) -> GetPromptResult:
        """Return a prompt, filled in with the arguments. For the options see `request`."""
        params: dict[str, Any] = {"name": name}
        if checked_arguments(arguments):
            params["arguments"] = arguments
        return GetPromptResult(await self.request("prompts/get", params, **options))

    async def complete(
        self,
        reference: Reference,
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        **options: Unpack[QueryOptions],
    ) -> Completion:
        """Return suggestions for an argument of a prompt or a resource template.

        ``reference``: the `Prompt` or `ResourceTemplate`, or a reference as the protocol has it,
        such as ``{"type": "ref/prompt", "name": …}``. ``value``: what has been typed so far.
        ``context``: the arguments that are already known. For the other options see `request`.
        """
        if isinstance(reference, Prompt):
            reference = {"type": "ref/prompt", "name": reference.name}
        elif isinstance(reference, ResourceTemplate):
            reference = {"type": "ref/resource", "uri": reference.uri_template}
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": context}
        result = await self.request("completion/complete", params, **options)
        completion = result.get("completion")
        return Completion(completion if isinstance(completion, dict) else {})

    # Skills

    async def list_skills(self, **options: Unpack[QueryOptions]) -> list[Skill]:
        """Return the skills of all pages. A server may have more than it lists: see `get_skill`.

        Raises `UsageError` when the server does not offer skills, as every method here does, and
        what `request` does.
        """
        from ..protocol.skills import Skill

        self._need_skills()
        return [Skill(item) for item in await self._list("skills/list", "skills", options)]

    async def get_skill(self, uri: str, **options: Unpack[QueryOptions]) -> Skill:
        """Return the entry of the skill with this URI (of its ``SKILL.md``), listed or not."""
        self._need_skills()
        result = await self.request("skills/get", {"uri": uri}, **options)
        entry = result.get("skill")
        if not isinstance(entry, dict) or entry.get("uri") != uri:
            raise ProtocolViolation(f"the server answered skills/get without the entry of {uri}")
        from ..protocol.skills import Skill

        return Skill(entry)

    async def read_skill(self, skill: Skill | str, **options: Unpack[QueryOptions]) -> LoadedSkill:
        """Load a skill, given its entry or its URI: read ``SKILL.md`` and verify it.

        Raises `SkillVerificationError` when the entry is invalid, or when size, digest or front
        matter of the file are not what the entry says. No other file is read.
        """
        from ..protocol.skills import load_skill

        if isinstance(skill, str):
            skill = await self.get_skill(skill, **options)
        self._need_skills()
        skill.check_entry()
        contents = await self._read_file(skill.uri, options)
        return load_skill(skill, contents.data)

    async def read_skill_file(
        self, skill: Skill | LoadedSkill, path: str, **options: Unpack[QueryOptions]
    ) -> ReadResourceResult:
        """Read and verify another file of a skill; ``path`` as the skill's text names it, or a URI.

        Raises `SkillVerificationError` when the file differs from its entry. A file that the
        entry does not list is not even read, since a new file is a change of the skill.
        """
        from ..protocol.skills import LoadedSkill, listed_file, verify_file

        self._need_skills()
        entry = skill.skill if isinstance(skill, LoadedSkill) else skill
        entry.check_entry()
        uri = entry.resolve(path)
        listed_file(entry, uri)  # raises for another one
        contents = await self._read_file(uri, options)
        verify_file(entry, uri, contents.data)
        return contents

    async def read_directory(self, uri: str, **options: Unpack[QueryOptions]) -> list[Resource]:
        """Return the entries directly inside a directory resource (MIME type ``inode/directory``).

        A file found there does not belong to a skill unless the skill's entry lists it. Raises
        `UsageError` when the server does not offer to read directories.
        """
        if self._need_skills().get("directoryRead") is not True:
            raise UsageError("the server does not offer to read directories")
        items = await self._list("resources/directory/read", "resources", options, {"uri": uri})
        return [Resource(item) for item in items]

    def _need_skills(self) -> dict[str, Any]:
        offered = extensions_of(self._connection.capabilities)
        if SKILLS not in offered:
            raise UsageError("the server does not offer skills")
        return offered[SKILLS]

    async def _read_file(self, uri: str, options: QueryOptions) -> ReadResourceResult:
        # A cached response may be older than the entry it is verified against.
        options["fresh"] = True
        contents = await self.read_resource(uri, **options)
        if len(contents.contents) != 1:
            reason = f"the server sent it as {len(contents.contents)} parts"
            raise SkillVerificationError(uri, "size", reason)
        return contents

    # Changes

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Iterable[str] = (),
        tasks: Iterable[str] = (),
    ) -> Subscription:
        """Listen for changes of the lists of tools, prompts or resources, of the resources with
        these URIs, and of the tasks with these ids. See `Subscription`.

        Any number of listeners may be open at once. In the handshake era, a server that reports
        status changes of tasks reports the changes of all tasks.
        """
        if isinstance(uris, str) or isinstance(tasks, str):
            raise UsageError("uris and tasks are lists of strings")
        from ..protocol.listen import ListenFilter

        wanted = ListenFilter(tools, prompts, resources, tuple(uris), tuple(tasks))
        if not wanted:
            raise UsageError("listen() needs something to listen for")
        from .feed import Feed
        from .subscription import Subscription

        return Subscription(self, Feed(self._connection, self._caller, wanted))

    async def subscribe_resource(self, uri: str) -> None:
        """Deliver updates of a resource to ``on_notification``, until `unsubscribe_resource`.

        It is a `listen` for this one resource, so it survives a reconnection. Raises what the
        server answers, `UsageError` when it agrees to nothing, or `ClientClosed`.
        """
        # Of a caller who may still wait for the server to agree.
        earlier = self._subscriptions.get(uri)
        if earlier is not None and earlier._feed.is_over:  # the client was closed, or the feed lost
            del self._subscriptions[uri]
            earlier = None
        subscription = earlier or self._subscriptions.setdefault(uri, self.listen(uris=[uri]))
        try:
            await subscription.open()
            if subscription.refused:
                raise subscription._feed.refusal or UsageError(
                    f"the server does not announce updates of {uri}"
                )
        except BaseException:
            if earlier is None:
                if self._subscriptions.get(uri) is subscription:
                    del self._subscriptions[uri]
                await subscription.close()
            raise

    async def unsubscribe_resource(self, uri: str) -> None:
        """Undo `subscribe_resource`."""
        subscription = self._subscriptions.pop(uri, None)
        if subscription is not None:
            await subscription.close()

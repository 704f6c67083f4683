"""The client's interface to what a server holds: resources, prompts, completions and skills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from ..errors import ProtocolViolation, SkillVerificationError, UsageError
from ..lazy import OnDemand
from ..protocol.era import SKILLS, extensions_of
from ..protocol.types import (
    Completion,
    GetPromptResult,
    Prompt,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
)
from .requests import Requests, checked_arguments

if TYPE_CHECKING:
    from ..formats.uri_template import TemplateValue
    from ..protocol import skills
    from ..typing_compat import Unpack
    from .connection.client_options import QueryOptions
else:
    skills = OnDemand("..protocol.skills", __name__)

Reference = Union[Prompt, ResourceTemplate, Mapping[str, Any]]
"""The owner of the argument to complete: a prompt, a resource template, or a wire reference."""


class Contents(Requests):
    """Resources, prompts, completions and skills. Nothing is fetched before it is asked for.

    A skill is untrusted input for a model: a digest that fits only shows that this server does not
    contradict itself. It is up to the program to ask the user for approval, of one skill and the
    files that its entry lists, and again when these change.
    """

    # Resources

    async def list_resources(self, **options: Unpack[QueryOptions]) -> list[Resource]:
        """Return the resources of all pages. The options are those of `request`, which it calls."""
        items = await self._list("resources/list", "resources", options)
        return [Resource(item) for item in items]

    async def list_resource_templates(
        self, **options: Unpack[QueryOptions]
    ) -> list[ResourceTemplate]:
        """Return the resource templates of all pages. The options are those of `request`."""
        items = await self._list("resources/templates/list", "resourceTemplates", options)
        return [ResourceTemplate(item) for item in items]

    async def read_resource(
        self,
        uri: str | ResourceTemplate,
        variables: Mapping[str, TemplateValue] | None = None,
        **options: Unpack[QueryOptions],
    ) -> ReadResourceResult:
        """Read a resource, given its URI, or a template and the values of its variables.

        The other options are those of `request`, which it calls. Also raises what
        `ResourceTemplate.expand` does.
        """
        if isinstance(uri, ResourceTemplate):
            uri = uri.expand(**checked_arguments(variables))
        elif variables is not None:
            raise UsageError("variables are for a ResourceTemplate, not for a URI")
        params = {"uri": uri}
        result = await self.request("resources/read", params, **options)
        return ReadResourceResult(result)

    # Prompts

    async def list_prompts(self, **options: Unpack[QueryOptions]) -> list[Prompt]:
        """Return the prompts of all pages. The options are those of `request`, which it calls."""
        items = await self._list("prompts/list", "prompts", options)
        return [Prompt(item) for item in items]

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        **options: Unpack[QueryOptions],
    ) -> GetPromptResult:
        """Return a prompt, filled in with the arguments. The options are those of `request`."""
        params: dict[str, Any] = {"name": name}
        if checked_arguments(arguments):
            params["arguments"] = arguments
        result = await self.request("prompts/get", params, **options)
        return GetPromptResult(result)

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
        ``context``: the arguments that are already known. The other options are those of `request`.
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

    async def list_skills(self, **options: Unpack[QueryOptions]) -> list[skills.Skill]:
        """Return the skills of all pages. A server may have more than it lists: see `get_skill`.

        Raises `UsageError` when the server does not offer skills, as every method here does, and
        what `request` does.
        """
        self._need_skills()
        items = await self._list("skills/list", "skills", options)
        return [skills.Skill(item) for item in items]

    async def get_skill(self, uri: str, **options: Unpack[QueryOptions]) -> skills.Skill:
        """Return the entry of the skill with this URI (of its ``SKILL.md``), listed or not."""
        self._need_skills()
        result = await self.request("skills/get", {"uri": uri}, **options)
        entry = result.get("skill")
        if not isinstance(entry, dict) or entry.get("uri") != uri:
            raise ProtocolViolation(f"the server answered skills/get without the entry of {uri}")
        return skills.Skill(entry)

    async def read_skill(
        self, skill: skills.Skill | str, **options: Unpack[QueryOptions]
    ) -> skills.LoadedSkill:
        """Load a skill, given its entry or its URI: read ``SKILL.md`` and verify it.

        Raises `SkillVerificationError` when the entry is invalid, or when size, digest or front
        matter of the file are not what the entry says. No other file is read.
        """
        if isinstance(skill, str):
            skill = await self.get_skill(skill, **options)
        self._need_skills()
        skill.check_entry()
        contents = await self._read_file(skill.uri, options)
        return skills.load_skill(skill, contents.data)

    async def read_skill_file(
        self,
        skill: skills.Skill | skills.LoadedSkill,
        path: str,
        **options: Unpack[QueryOptions],
    ) -> ReadResourceResult:
        """Read and verify another file of a skill; ``path`` as the skill's text names it, or a URI.

        Raises `SkillVerificationError` when the file differs from its entry. A file that the
        entry does not list is not even read, since a new file is a change of the skill.
        """
        self._need_skills()
        entry = skill.skill if isinstance(skill, skills.LoadedSkill) else skill
        entry.check_entry()
        uri = entry.resolve(path)
        skills.listed_file(entry, uri)  # raises for another one
        contents = await self._read_file(uri, options)
        skills.verify_file(entry, uri, contents.data)
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
        result = await self.request("resources/read", {"uri": uri}, **options)
        contents = ReadResourceResult(result)
        if len(contents.contents) != 1:
            reason = f"the server sent it as {len(contents.contents)} parts"
            raise SkillVerificationError(uri, "size", reason)
        return contents

"""The client's interface to skills."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient import Skill
from mcpclient.errors import ProtocolViolation, SkillVerificationError, UsageError
from tests.client.scripted_server import STATELESS, ScriptedServer

pytestmark = pytest.mark.virtual_time

ROOT = "skill://pdf"
URI = f"{ROOT}/SKILL.md"
FILES = {
    URI: b"---\nname: pdf\ndescription: PDFs\n---\nSee [forms](ref/FORMS.md).\n",
    f"{ROOT}/ref/FORMS.md": b"forms",
    f"{ROOT}/logo.png": b"\x89PNG\xff",
}
ENTRY = {
    "uri": URI,
    "frontmatter": {"name": "pdf", "description": "PDFs"},
    "resources": [
        {"uri": uri, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}
        for uri, data in FILES.items()
    ],
}
CAPABILITIES: dict[str, Any] = {
    "resources": {},
    "extensions": {"io.modelcontextprotocol/skills": {}},
}


def read(params: Mapping[str, Any]) -> dict[str, Any]:
    data = FILES[params["uri"]]
    try:
        content = {"text": data.decode()}
    except UnicodeDecodeError:
        content = {"blob": base64.b64encode(data).decode()}
    return {
        "contents": [{"uri": params["uri"], **content}],
        "ttlMs": 60_000,
        "cacheScope": "public",
    }


def serving(answers: Mapping[str, Any] | None = None, version: str = STATELESS) -> ScriptedServer:
    usual: dict[str, Any] = {
        "skills/list": {"skills": [ENTRY]},
        "skills/get": {"skill": ENTRY},
        "resources/read": read,
    }
    return ScriptedServer({**usual, **(answers or {})}, version=version, capabilities=CAPABILITIES)


SKILL = Skill(ENTRY)


@pytest.mark.parametrize("answer", [{}, {"skill": []}, {"skill": {**ENTRY, "uri": "skill://x"}}])
async def test_an_entry_of_something_else(answer: dict[str, Any]) -> None:
    """F-API-16"""
    async with serving({"skills/get": answer}).client() as client:
        with pytest.raises(ProtocolViolation, match="without the entry"):
            await client.get_skill(URI)


async def test_other_files_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-16: and one that is not listed is never asked for."""
    monkeypatch.setitem(FILES, f"{ROOT}/ref/FORMS.md", b"f0rms")
    server = serving()
    async with server.client() as client:
        (skill,) = await client.list_skills()
        with pytest.raises(SkillVerificationError, match="digest"):
            await client.read_skill_file(skill, "ref/FORMS.md")
        for path in ("new.md", "../other/SKILL.md", "file:///etc/passwd"):
            with pytest.raises(SkillVerificationError) as caught:
                await client.read_skill_file(skill, path)
            assert caught.value.check == "unlisted"
        assert len(server.sent("resources/read")) == 1


async def test_an_invalid_entry_is_not_loaded() -> None:
    """F-API-16: not even read."""
    server = serving({"skills/list": {"skills": [{**ENTRY, "resources": None}]}})
    async with server.client() as client:
        (skill,) = await client.list_skills()
        for attempt in (client.read_skill(skill), client.read_skill_file(skill, "x")):
            with pytest.raises(SkillVerificationError, match="entry check"):
                await attempt
        assert not server.sent("resources/read")


async def test_a_dynamic_skill() -> None:
    """F-API-16: its front matter is still compared."""
    entry = {**ENTRY, "resources": "dynamic"}
    changed = {**entry, "frontmatter": {"name": "pdf", "description": "Harmless"}}
    server = serving({"skills/list": {"skills": [entry, changed]}})
    async with server.client() as client:
        skill, other = await client.list_skills()
        assert (await client.read_skill(skill)).front_matter["name"] == "pdf"
        assert (await client.read_skill_file(skill, "ref/FORMS.md")).text == "forms"
        with pytest.raises(SkillVerificationError, match="front matter"):
            await client.read_skill(other)


async def test_a_kept_answer_is_not_used() -> None:
    """F-API-15, F-API-16: what was read before may be older than the entry."""
    server = serving()
    async with server.client() as client:
        await client.read_resource(URI)
        await client.read_skill(URI)
        assert len(server.sent("resources/read")) == 2


@pytest.mark.parametrize("contents", [[], [{"uri": URI, "text": "a"}, {"uri": URI, "text": "b"}]])
async def test_a_file_in_parts(contents: list[Any]) -> None:
    """F-API-16"""
    async with serving({"resources/read": {"contents": contents}}).client() as client:
        with pytest.raises(SkillVerificationError, match="parts"):
            await client.read_skill(Skill(ENTRY))


async def test_directories() -> None:
    """F-API-16: all pages, and only where the server offers it."""

    def directory(params: Mapping[str, Any]) -> dict[str, Any]:
        assert params["uri"] == ROOT
        if "cursor" in params:
            return {"resources": [{"uri": f"{ROOT}/b", "mimeType": "inode/directory"}]}
        return {"resources": [{"uri": f"{ROOT}/a"}], "nextCursor": "2"}

    server = serving({"resources/directory/read": directory})
    async with server.client() as client:
        with pytest.raises(UsageError, match="read directories"):
            await client.read_directory(ROOT)
    extension = {"io.modelcontextprotocol/skills": {"directoryRead": True}}
    server.capabilities = {"extensions": extension}
    async with server.client() as client:
        found = await client.read_directory(ROOT)
        assert [resource.uri for resource in found] == [f"{ROOT}/a", f"{ROOT}/b"]


async def test_a_server_without_skills() -> None:
    """F-API-16: is not asked."""
    server = ScriptedServer()
    async with server.client() as client:
        with pytest.raises(UsageError, match="does not offer skills"):
            await client.list_skills()
        with pytest.raises(UsageError, match="does not offer skills"):
            await client.read_skill(Skill(ENTRY))
        assert client.extensions == {}

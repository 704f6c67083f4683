"""Skills: entries, and whether their content agrees with them: F-API-16."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from mcpclient.errors import SkillVerificationError
from mcpclient.protocol.skills import Skill, load_skill, verify_file
from tests.support.tables import each_row

ROOT = "skill://acme/pdf"
URI = f"{ROOT}/SKILL.md"
TEXT = b"---\nname: pdf\ndescription: PDFs\nmetadata: {v: 1}\n---\n# Use it\n"
FORMS = b"forms"
FRONT_MATTER = {"name": "pdf", "description": "PDFs", "metadata": {"v": 1}}


def file_entry(uri: str, data: bytes) -> dict[str, Any]:
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return {"uri": uri, "digest": digest, "size": len(data)}


def skill(**changes: Any) -> Skill:
    entry = {
        "uri": URI,
        "frontmatter": FRONT_MATTER,
        "resources": [file_entry(URI, TEXT), file_entry(f"{ROOT}/ref/FORMS.md", FORMS)],
    }
    return Skill({**entry, **changes})


def refused(check: str, reason: str) -> Any:
    return pytest.raises(SkillVerificationError, match=rf"{check} check: .*{reason}")


@each_row(
    ("changes", "reason"),
    [
        ({"uri": f"{ROOT}/README.md"}, "does not end with /SKILL.md"),
        ({"frontmatter": None}, "no name"),
        ({"frontmatter": {"name": "pdf"}}, "no description"),
        ({"uri": "skill://acme//SKILL.md", "frontmatter": {"description": "d"}}, "no name"),
        ({"frontmatter": {"name": "doc", "description": "d"}}, "not called 'doc'"),
        ({"resources": None}, "neither a list nor"),
        ({"resources": "live"}, "neither a list nor"),
        ({"resources": [1]}, "is not an object"),
        ({"resources": []}, "does not list its SKILL.md"),
        ({"resources": [file_entry("skill://other/x", b"")]}, "outside of its directory"),
        ({"resources": [file_entry(URI, TEXT)] * 2}, "twice"),
        ({"resources": [{"uri": URI, "digest": "sha256:00", "size": 1}]}, "no digest"),
        ({"resources": [{**file_entry(URI, TEXT), "size": None}]}, "no digest or no size"),
    ],
)
def test_entries_that_break_a_rule(changes: dict[str, Any], reason: str) -> None:
    """F-API-16: nothing of such a skill may be loaded."""
    with refused("entry", reason) as caught:
        skill(**changes).check_entry()
    assert caught.value.check == "entry"


def test_loading() -> None:
    """F-API-16: size, digest and front matter agree."""
    loaded = load_skill(skill(), TEXT)
    assert loaded.front_matter == FRONT_MATTER
    assert loaded.body == "# Use it\n"
    assert loaded.text == TEXT.decode()
    assert loaded.skill.uri == URI
    assert repr(loaded) == f"LoadedSkill({URI!r})"


@each_row(
    ("front_matter", "reason"),
    [
        ({**FRONT_MATTER, "description": "Harmless"}, "differ in 'description'"),
        ({**FRONT_MATTER, "metadata": {"v": 2}}, "differ in 'metadata'"),
        ({**FRONT_MATTER, "license": "MIT"}, "only the entry has a field 'license'"),
        ({"name": "pdf", "description": "PDFs"}, "only the file has a field 'metadata'"),
    ],
)
def test_front_matter_that_differs(front_matter: dict[str, Any], reason: str) -> None:
    """F-API-16: compared field by field, dynamic or not."""
    for resources in (skill().raw["resources"], "dynamic"):
        with refused("front matter", reason):
            load_skill(skill(frontmatter=front_matter, resources=resources), TEXT)


@each_row("text", [b"# no front matter", b"---\na: *b\n---\n", b"---\n\xff\n---\n"])
def test_front_matter_that_cannot_be_read(text: bytes) -> None:
    with refused("front matter", ""):
        load_skill(skill(resources="dynamic"), text)


def test_relative_references() -> None:
    """F-API-16: against the directory of the skill, and never out of it."""
    assert skill().resolve("ref/FORMS.md") == f"{ROOT}/ref/FORMS.md"
    assert skill().resolve("./a/../b.md") == f"{ROOT}/b.md"
    assert skill().resolve("skill://x/y.md") == "skill://x/y.md"
    assert skill().resolve("..notes/a.md") == f"{ROOT}/..notes/a.md"
    for path in ("../x", "..", "/etc/passwd", "//host/x", "a/../../x", "."):
        with refused("unlisted", "no file"):
            skill().resolve(path)


OUTSIDE = [
    *("../x.md", "a/../../x.md", "%2e%2e/x.md", "%2E./x.md", ".%252e/x.md", "a/%2e%2e%2f%2e%2e/x"),
    *("..\\x.md", "a\\..\\x.md", "..%5cx.md", "a\0b", "a%00b", "a%0ab", "a%2fb", "a//b", "/etc"),
    *(".. /x", "... /x", ".%20/x", "C:x.md", "c%3ax", "a/", "", "%" + 9 * "25" + "41"),
]


@each_row("path", OUTSIDE)
def test_nothing_leads_out_of_the_folder(path: str) -> None:
    """F-API-16: however it is written, so that a skill can be stored under these names."""
    uri = f"{ROOT}/{path}"
    listed = [*skill().raw["resources"], file_entry(uri, b"")]
    with refused("entry", "outside of its directory"):
        skill(resources=listed).check_entry()
    with refused("unlisted", "outside of the skill"):
        verify_file(skill(resources="dynamic"), uri, b"")
    if path not in ("a//b", "a/", "../x.md"):  # A relative path may be read without it.
        with refused("unlisted", "has no file"):
            skill().resolve(path)

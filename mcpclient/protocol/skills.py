"""Skills over MCP: the entry of a skill, and the verification of its files.

Source: the Skills extension, ``io.modelcontextprotocol/skills`` (SEP-2640), "Skill Entries" and
"Integrity and Verification". A digest proves that entry and content agree, and nothing more: both
come from the same server, and the instructions of a skill are untrusted either way.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ..errors import SkillVerificationError
from ..formats.front_matter import (
    FrontMatterError,
    parse_front_matter,
    same_content,
    split_front_matter,
)
from .wire_object import Converted, Field, WireObject, WireObjectList, object_in, string_at

_MAIN_FILE = "/SKILL.md"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# A segment of a path that is not a plain file name on some system: an empty one, one of dots
# (Windows drops trailing spaces and dots), one with a separator or a control character in it, and
# one that begins with a drive.
_NO_FILE_NAME = re.compile(r"[. ]*|.*[/\\\x00-\x1f\x7f].*|[A-Za-z]:.*", re.DOTALL)
# A name that is encoded more often is meant to hide something.
_MAX_ENCODINGS = 8


class SkillFile(WireObject):
    """One file of a skill, as its entry describes it."""

    uri: Field[str] = Field("uri", (str,), "")
    digest: Field[str] = Field("digest", (str,), "", "``sha256:`` and 64 hexadecimal digits.")
    size: Field[int] = Field(
        "size", (int,), -1, "Length in bytes; -1 when the entry does not say it."
    )


class Skill(WireObject):
    """The entry of a skill. Its ``uri`` names it within its server; its name may not be unique."""

    uri: Field[str] = Field("uri", (str,), "", "URI of its ``SKILL.md``.")
    front_matter: Converted[dict[str, Any]] = Converted(
        "frontmatter", object_in, "The front matter of its ``SKILL.md``, as the server says."
    )
    files: WireObjectList[SkillFile] = WireObjectList(
        "resources", SkillFile, "All its files, ``SKILL.md`` among them; none when it is dynamic."
    )

    @property
    def name(self) -> str:
        """Its name, a label for people."""
        return string_at(self.front_matter, "name") or ""

    @property
    def description(self) -> str:
        """The purpose of the skill."""
        return string_at(self.front_matter, "description") or ""

    @property
    def is_dynamic(self) -> bool:
        """Whether its content is made on demand, so that nothing of it can be verified."""
        return self.raw.get("resources") == "dynamic"

    @property
    def root(self) -> str:
        """URI of its directory."""
        return self.uri[: -len(_MAIN_FILE)] if self.uri.endswith(_MAIN_FILE) else self.uri

    def resolve(self, reference: str) -> str:
        """Return the URI of a relative path in the skill's text.

        A URI is returned as it is. Raises `SkillVerificationError` for a path that leads out of
        the skill.
        """
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", reference):  # one letter is a drive
            return reference
        uri = f"{self.root}/{posixpath.normpath(reference)}"
        if not self.contains(uri):
            raise SkillVerificationError(self.uri, "unlisted", f"it has no file {reference!r}")
        return uri

    def contains(self, uri: str) -> bool:
        """Whether a URI names something within its directory, for any reader of the URI.

        So a file may be stored under what follows `root`: no segment leads out of it, neither as
        it is nor decoded.
        """
        directory = f"{self.root}/"
        return uri.startswith(directory) and _are_file_names(uri[len(directory) :])

    def check_entry(self) -> None:
        """Raise `SkillVerificationError` when the entry breaks a rule: it must not be used."""
        fault = _fault_of(self)
        if fault is not None:
            raise SkillVerificationError(self.uri, "entry", fault)


@dataclass(eq=False, repr=False)
class LoadedSkill:
    """A skill that has been read and verified. A model it is given to must be told its source.

    ``skill``: the entry it was loaded by; read its other files with this same entry. ``text``: all
    of ``SKILL.md``. ``front_matter``: as parsed from there. ``body``: the text after it.
    """

    skill: Skill
    text: str
    front_matter: dict[str, Any]
    body: str

    def __repr__(self) -> str:
        return f"LoadedSkill({self.skill.uri!r})"


def verify_file(skill: Skill, uri: str, data: bytes) -> None:
    """Raise `SkillVerificationError` unless ``data`` is the content of the skill's file ``uri``.

    Of a dynamic skill no content can be verified, only that the file lies within it.
    """
    listed = listed_file(skill, uri)
    if listed is None:
        return
    if len(data) != listed.size:
        reason = f"it has {len(data)} bytes, and should have {listed.size}"
        raise SkillVerificationError(uri, "size", reason)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    if digest != listed.digest:
        raise SkillVerificationError(uri, "digest", f"it is {digest}, not {listed.digest}")


def listed_file(skill: Skill, uri: str) -> SkillFile | None:
    """Return the entry's description of a file of the skill; None for one of a dynamic skill.

    Raises `SkillVerificationError` for a URI that is not a file of the skill. A dynamic skill lists
    none; what lies within it may be one.
    """
    if skill.is_dynamic:
        if skill.contains(uri):
            return None
        raise SkillVerificationError(uri, "unlisted", "it lies outside of the skill")
    for file in skill.files:
        if file.uri == uri:
            return file
    raise SkillVerificationError(uri, "unlisted", f"{skill.uri} does not list it")


def load_skill(skill: Skill, data: bytes) -> LoadedSkill:
    """Return a ``SKILL.md`` that agrees with its entry. Raises `SkillVerificationError`."""

    def error(reason: str) -> SkillVerificationError:
        return SkillVerificationError(skill.uri, "front matter", reason)

    verify_file(skill, skill.uri, data)
    try:
        text = data.decode("utf-8")
        front, body = split_front_matter(text)
        front_matter = parse_front_matter(front)
    except (FrontMatterError, UnicodeDecodeError) as fault:
        raise error(str(fault)) from None
    for name in sorted({*front_matter, *skill.front_matter}):
        if name not in front_matter or name not in skill.front_matter:
            side = "file" if name in front_matter else "entry"
            raise error(f"only the {side} has a field {name!r}")
        if not same_content(front_matter[name], skill.front_matter[name]):
            raise error(f"entry and file differ in {name!r}")
    return LoadedSkill(skill, text, front_matter, body)


def _fault_of(skill: Skill) -> str | None:
    """Return which rule of "Skill Entries" an entry breaks; None when it breaks none."""
    if not skill.uri.endswith(_MAIN_FILE):
        return "its uri does not end with /SKILL.md"
    if not skill.name or not skill.description:
        return "its front matter has no name or no description"
    if skill.root.rpartition("/")[2] != skill.name:
        return f"its directory is not called {skill.name!r}, as the skill is"
    if not _are_file_names(skill.root.partition(":")[2].lstrip("/")):
        return "its uri has a segment that is not the name of a file"
    if skill.is_dynamic:
        return None
    listed = skill.raw.get("resources")
    if not isinstance(listed, list):
        return 'its resources are neither a list nor "dynamic"'
    if len(skill.files) != len(listed):
        return "one of its resources is not an object"
    seen = set()
    for file in skill.files:
        if not skill.contains(file.uri):
            return f"{file.uri!r} lies outside of its directory"
        if file.uri in seen:
            return f"it lists {file.uri} twice"
        if not _DIGEST.fullmatch(file.digest) or file.size < 0:
            return f"it gives no digest or no size of {file.uri}"
        seen.add(file.uri)
    return None if skill.uri in seen else "it does not list its SKILL.md"


def _are_file_names(path: str) -> bool:
    """Whether each segment is the name of a file or a folder, however often it is decoded."""
    separators = path.count("/")
    for _ in range(_MAX_ENCODINGS):
        # Programs that split before they decode do not see an encoded separator.
        if path.count("/") != separators or any(map(_NO_FILE_NAME.fullmatch, path.split("/"))):
            return False
        encoded, path = path, unquote(path)
        if path == encoded:
            return True
    return False

"""The entry of a server that a ``server.json`` of a registry describes; nothing is looked up.

Facts from the registry's schemas of 2025-07 to 2025-12, and from two thousand files of its makers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import safe_repr
from ..entry import EntryError, kind_of_value
from ..variables import Literals

# The programs that fetch and start a package of each registry; the first one is usual.
_RUNNERS = {
    "npm": ("npx", "bunx"),
    "pypi": ("uvx",),
    "oci": ("docker", "podman"),
    "nuget": ("dnx",),
}
_FIRST = {"npm": ["-y"], "oci": ["run", "-i", "--rm"]}
_OTHER_NAMES = {"registryName": "registryType", "transportType": "type", "docker": "oci"}
# In another registry, a package of the same name is another one.
_REGISTRIES = (None, "", "registry.npmjs.org", "pypi.org", "api.nuget.org", "docker.io")
_IN_BRACES = re.compile(r"\{([^{}]+)\}")


class FoundEntry(NamedTuple):
    """The entry for a server, by the name of the server. ``left_out``: values that it may have."""

    name: str
    entry: dict[str, Any]
    left_out: list[str]


def find_entry(
    document: Any, folder: str, given: Mapping[str, str], kind: str | None
) -> FoundEntry:
    """Return the entry for a package or a remote server of a document.

    ``folder``: where a bundle that it names may lie. ``given``: the user's values, by their names.
    ``kind``: a type of package, or ``"remote"``; by default the first package whose program is
    installed, then a remote server, then any. Raises `EntryError`.
    """
    server = _Reader(_camel(document), "server.json")
    if isinstance(server.item.get("server"), Mapping):  # as a registry's API wraps it
        server = _Reader(server.item["server"], "server")
    name = server.text("name")
    ways = [
        (_OTHER_NAMES.get(each.text("registryType"), each.text("registryType")), each)
        for each in server.readers("packages")
        if _Reader(each.item.get("transport") or {}, each.at).text("type", "stdio") == "stdio"
    ]
    ways += [("remote", each) for each in server.readers("remotes")]
    installed = [each for each, _ in ways if each in _RUNNERS and shutil.which(_RUNNERS[each][0])]
    kinds = [each for each, _ in ways]
    wanted = kind or next(
        iter([*installed, *(each for each in kinds if each == "remote"), *kinds]), ""
    )
    if wanted not in kinds:
        there = ", ".join(dict.fromkeys(kinds)) or "none that is started over stdio"
        raise EntryError(f"it has no package of this kind; there are: {there}", "packages")
    reader = ways[kinds.index(wanted)][1]
    reader.given = given
    entry = reader.remote() if wanted == "remote" else reader.package(wanted, folder)
    inputs = [*reader.inputs.values(), *reader.literals.declared]
    entry = {key: value for key, value in {**entry, "inputs": inputs}.items() if value}
    return FoundEntry(name.rpartition("/")[2] or name, entry, reader.left_out)


class _Reader:
    """A reader of one object in the file, ``at`` a place. Raises `EntryError`."""

    def __init__(self, item: Any, at: str) -> None:
        if not isinstance(item, Mapping):
            raise EntryError(f"must be an object, not {kind_of_value(item)}", at)
        self.item: Mapping[str, Any] = item
        self.at = at
        self.given: Mapping[str, str] = {}
        self.inputs: dict[str, dict[str, Any]] = {}
        self.literals = Literals()
        self.left_out: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string, by default another one, which may be empty."""
        value = self.item.get(key, default)
        if isinstance(value, (bool, int, float)):
            return str(value).lower()
        if not isinstance(value, str):
            raise EntryError(f"must be a string, not {kind_of_value(value)}", self.at, key)
        return value

    def readers(self, key: str) -> Iterator[_Reader]:
        """Yield a reader for each object of a list, which may be missing."""
        items = self.item.get(key)
        if not isinstance(items, (list, type(None))):
            raise EntryError(f"must be a list, not {kind_of_value(items)}", self.at, key)
        for index, item in enumerate(items or ()):
            yield _Reader(item, f"{self.at}.{key}.{index}")

    def remote(self) -> dict[str, Any]:
        """Return the entry for a remote server."""
        kind = "sse" if self.text("type") == "sse" else "http"
        url = self._filled(self.text("url"), self, is_asked=True)
        headers = self._named("headers", is_asked=True)
        return {"type": kind, "url": url, "headers": headers}

    def package(self, kind: str, folder: str) -> dict[str, Any]:
        """Return the entry that starts a package."""
        identifier = self.text("identifier", self.text("name", ""))
        if kind == "mcpb":
            path = os.path.join(folder, os.path.basename(identifier))
            if not os.path.isfile(path):
                hint = f"get it from {safe_repr(identifier)}, and put it beside this file"
                raise EntryError("the bundle is not here", self.at, "identifier", hint=hint)
            return {"bundle": path, "sha256": self.text("fileSha256").lower()}
        base = self.text("registryBaseUrl", "").partition("://")[2].rstrip("/")
        if kind not in _RUNNERS or base not in _REGISTRIES:
            raise EntryError(f"{kind} of {safe_repr(base)} is not known", self.at, "registryType")
        if not identifier or identifier.startswith("-"):
            raise EntryError("must be the name of a package", self.at, "identifier")
        hint, env = self.text("runtimeHint", ""), self._named("environmentVariables")
        runtime, words = (
            list(self._words("runtimeArguments")),
            list(self._words("packageArguments")),
        )
        version = self.text("version", "")
        package = identifier
        if version and not re.search("[:@][^/]*$", identifier[1:]):
            package += f"{':' if kind == 'oci' else '@'}{version}"
        first = [*_FIRST.get(kind, ())]
        if kind == "oci":
            runtime = runtime[1:] if runtime[:1] == ["run"] else runtime
            first += [word for name in env if name not in runtime for word in ("-e", name)]
        # Some makers write the package among the arguments of its runner, and then twice.
        is_named = any(word.startswith(identifier) for word in runtime)
        last = ["--yes", *(["--"] if words else [])] if kind == "nuget" else []
        runners = _RUNNERS[kind]
        command = hint if hint in runners else runners[0]
        args = [
            *first,
            *runtime,
            *([] if is_named else [self.literals.text(package)]),
            *last,
            *words,
        ]
        return {"command": command, "args": args, "env": env}

    def _named(self, key: str, *, is_asked: bool = False) -> dict[str, str]:
        found = {
            each.text("name"): self._value(each, each.text("name"), is_asked=is_asked)
            for each in self.readers(key)
        }
        return {name: value for name, value in found.items() if value is not None}

    def _words(self, key: str) -> Iterator[str]:
        for each in self.readers(key):
            name = each.text("name", "")
            if each.text("type", "positional") != "named":
                value = self._value(each, each.text("valueHint", name) or f"{each.at}")
                yield from [] if value is None else [value]
                continue
            is_flag = key == "runtimeArguments" and each.item.keys() <= {
                "type",
                "name",
                "description",
            }
            value = "true" if is_flag else self._value(each, name.lstrip("-"))
            is_boolean = is_flag or each.text("format", "") == "boolean"
            if value is not None and not (is_boolean and value == "false"):
                yield self.literals.text(name)
                yield from [] if is_boolean and value == "true" else [value]

    def _value(
        self, each: _Reader, name: str, *, is_asked: bool = False, needed: bool = False
    ) -> str | None:
        """Return a value in the syntax of entries, None for one that is left out."""
        if each.item.get("value") is not None:
            return self._filled(each.text("value"), each, is_asked=is_asked)
        if name in self.given:
            return self.given[name]
        if each.item.get("default") is not None:
            return self.literals.text(each.text("default"))
        if not needed and each.item.get("isRequired") is not True:
            self.left_out.append(name)
            return None
        choices = each.item.get("choices")
        name = re.sub("[{}]", "", name)
        self.inputs[name] = {
            "id": name,
            "type": "pickString" if choices else "promptString",
            "description": each.text("description", ""),
            "password": each.item.get("isSecret") is True,
            "required": True,
            **({"options": choices} if choices else {}),
        }
        return f"${{input:{name}}}"

    def _filled(self, text: str, owner: _Reader, *, is_asked: bool) -> str:
        """Return a string with the values of its ``{variables}``.

        ``is_asked``: a name in braces that is not declared is a secret that is asked for; elsewhere
        it stays.
        """
        declared = _Reader(owner.item.get("variables") or {}, f"{owner.at}.variables")
        parts: list[str] = []
        position = 0
        for match in _IN_BRACES.finditer(text):
            key = match[1]
            if key not in declared.item and not is_asked:
                continue
            variable = _Reader(declared.item.get(key, {"isSecret": True}), f"{declared.at}.{key}")
            parts += [
                self.literals.text(text[position : match.start()]),
                self._value(variable, key, needed=True) or "",
            ]
            position = match.end()
        return "".join([*parts, self.literals.text(text[position:])])


def _camel(value: Any) -> Any:
    """Return a value with the names of fields as the newest schema has them."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    camel = {
        re.sub("_([a-z])", lambda match: match[1].upper(), key) if key != "_meta" else key: key
        for key in value
    }
    return {_OTHER_NAMES.get(name, name): _camel(value[key]) for name, key in camel.items()}

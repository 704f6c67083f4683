"""The entry of a server that a ``server.json`` of a registry describes; nothing is looked up.

Facts from the registry's schemas of 2025-07 to 2025-12, and from two thousand files of its makers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import safe_repr
from ...framing.escaping import escape_line
from ..entry import EntryError
from ..variables import literal, with_values
from .manifest import SCALAR, fitted

# The programs that fetch and start a package of each registry; the first one is usual.
_RUNNERS = {
    "npm": ("npx", "bunx"),
    "pypi": ("uvx",),
    "oci": ("docker", "podman"),
    "nuget": ("dnx",),
}
# A version is one, and not another package (npm:other@1) or the place of one; so is a name. Either
# may have the other behind it.
_VERSION = r"[0-9A-Za-z][0-9A-Za-z._+!~-]*"
_IDENTIFIERS = {
    "npm": re.compile(rf"(@[\w~-][\w.~-]*/)?[\w~][\w.~-]*(@{_VERSION})?", re.ASCII),
    "pypi": re.compile(rf"\w[\w.-]*(\[[\w.,-]+\])?((@|==){_VERSION})?", re.ASCII),
    "oci": re.compile(
        r"\w[\w.-]*(:[0-9]+)?(/[\w.-]+)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?", re.ASCII
    ),
    "nuget": re.compile(rf"\w[\w.-]*(@{_VERSION})?", re.ASCII),
}
_FIRST = {"npm": ["-y"], "oci": ["run", "-i", "--rm"]}
_RENAMED = {"registryName": "registryType", "transportType": "type"}
# In another registry, a package of the same name may be anything.
_REGISTRIES = ("", "registry.npmjs.org", "pypi.org", "api.nuget.org", "docker.io")
# Characters of all values of variables, which may have variables themselves.
_MAX_VALUES = 256 * 1024
_IN_BRACES = re.compile(r"\{([^{}]+)\}")

_INPUT: dict[str, Any] = {
    **dict.fromkeys(("name?", "type?", "description?", "format?", "valueHint?"), str),
    **dict.fromkeys(("value?", "default?"), SCALAR),
    **dict.fromkeys(("isRequired?", "isSecret?"), bool),
    "choices?": [str],
}
_INPUT["variables?"] = {"*": _INPUT}
_NAMED = {**_INPUT, "name": str}
_PACKAGE_TEXTS = ("name?", "version?", "registryBaseUrl?", "runtimeHint?", "fileSha256?")
_PACKAGE = {
    **dict.fromkeys(("registryType", "identifier?", *_PACKAGE_TEXTS), str),
    "transport?": {"type?": str},
    "runtimeArguments?": [_INPUT],
    "packageArguments?": [_INPUT],
    "environmentVariables?": [_NAMED],
}
_REMOTE = {"type": str, "url": str, "headers?": [_NAMED], "variables?": {"*": _INPUT}}
_SHAPE = {"name": str, "packages?": [_PACKAGE], "remotes?": [_REMOTE]}


class FoundEntry(NamedTuple):
    """An entry, and the name of its server. ``left_out``: values that it may have, by name."""

    name: str
    entry: dict[str, Any]
    left_out: list[str]


def find_entry(
    document: Any, folder: str, given: Mapping[str, str], kind: str | None = None
) -> FoundEntry:
    """Return the entry for a package or a remote server of a document.

    ``folder``: where a bundle that it names may lie. ``given``: the user's values, by their names.
    ``kind``: a type of package, or ``"remote"``; by default the first package whose program is
    installed, then a remote server, then any. Raises `EntryError`.
    """
    plain = _camel(document)
    if isinstance(plain, Mapping) and isinstance(plain.get("server"), Mapping):
        plain = plain["server"]  # as the API of a registry wraps it
    server = fitted(plain, _SHAPE)
    ways: dict[str, Mapping[str, Any]] = {}
    for package in server.get("packages", ()):
        if package.get("transport", {}).get("type", "stdio") == "stdio":
            ways.setdefault(package["registryType"].replace("docker", "oci"), package)
    for remote in server.get("remotes", ()):
        ways.setdefault("remote", remote)
    if kind is None:
        installed = (way for way in ways if way in _RUNNERS and shutil.which(_RUNNERS[way][0]))
        kind = next(installed, "remote" if "remote" in ways else next(iter(ways), ""))
    if kind not in ways:
        there = escape_line(", ".join(ways)) or "none that is started over stdio"
        raise EntryError(f"it has no package of this kind; there are: {there}", "packages")
    values = _Values(given)
    make = values.remote if "url" in ways[kind] else values.package
    entry = {**make(kind, ways[kind], folder), "inputs": values.inputs}
    kept = {key: value for key, value in entry.items() if value}
    return FoundEntry(server["name"].rpartition("/")[2] or "server", kept, values.left_out)


class _Values:
    """The values of one entry: given by the user, by the file, or to be asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._size = 0
        self.inputs: list[dict[str, Any]] = []
        self.left_out: list[str] = []

    def remote(self, kind: str, remote: Mapping[str, Any], folder: str) -> dict[str, Any]:
        url = self._filled(remote["url"], remote.get("variables", {}), is_secret=True)
        headers = self._named(remote.get("headers", ()), is_secret=True)
        kind = "sse" if remote["type"] == "sse" else "http"
        return {"type": kind, "url": url, "headers": headers}

    def package(self, kind: str, package: Mapping[str, Any], folder: str) -> dict[str, Any]:
        identifier = package.get("identifier", package.get("name", ""))
        if kind == "mcpb":
            path = os.path.join(folder, os.path.basename(identifier))
            if not os.path.isfile(path):
                hint = f"get it from {safe_repr(identifier)}, and put it beside this file"
                raise EntryError("the bundle is not here", "packages", "identifier", hint=hint)
            return {"bundle": path, "sha256": package.get("fileSha256", "").lower()}
        base = package.get("registryBaseUrl", "").partition("://")[2].rstrip("/")
        if kind not in _RUNNERS or base not in _REGISTRIES:
            message = f"{escape_line(kind)} of {safe_repr(base)} is not known"
            raise EntryError(message, "packages", "registryType")
        if not _IDENTIFIERS[kind].fullmatch(identifier):
            message = f"must be the name of a package ({kind}), not {safe_repr(identifier)}"
            raise EntryError(message, "packages", "identifier")
        env = self._named(package.get("environmentVariables", ()))
        runtime = list(self._words(package.get("runtimeArguments", ()), is_flag=True))
        words = list(self._words(package.get("packageArguments", ())))
        version = package.get("version", "")
        if not re.fullmatch(_VERSION, version or "0"):
            message = f"must be a version, not {safe_repr(version)}"
            raise EntryError(message, "packages", "version")
        has_version = not version or re.search("[:@][^/]*$", identifier[1:])
        separator = ":" if kind == "oci" else "@"
        whole = literal(identifier if has_version else identifier + separator + version)
        first = [*_FIRST.get(kind, ())]
        if kind == "oci":
            runtime = runtime[1:] if runtime[:1] == ["run"] else runtime
            first += [word for name in env if name not in runtime for word in ("-e", name)]
        if not any(word.startswith(identifier) for word in runtime):  # as some makers write it
            runtime.append(whole)
        if kind == "nuget":
            runtime += ["--yes", *(["--"] if words else [])]
        hint, runners = package.get("runtimeHint", ""), _RUNNERS[kind]
        command = hint if hint in runners else runners[0]
        return {"command": command, "args": [*first, *runtime, *words], "env": env}

    def _named(
        self, items: Sequence[Mapping[str, Any]], *, is_secret: bool = False
    ) -> dict[str, str]:
        found = {each["name"]: self._value(each, each["name"], is_secret) for each in items}
        return {name: value for name, value in found.items() if value is not None}

    def _words(self, items: Sequence[Mapping[str, Any]], *, is_flag: bool = False) -> Iterator[str]:
        """Yield the words of arguments. ``is_flag``: a name alone is a word."""
        for each in items:
            name = each.get("name", "")
            is_named = each.get("type") == "named"
            if is_flag and is_named and each.keys() <= {"type", "name", "description"}:
                yield literal(name)
                continue
            value = self._value(each, name.lstrip("-") or each.get("valueHint", "argument"))
            is_boolean = is_named and each.get("format") == "boolean"
            if value is not None and not (is_boolean and value == "false"):
                yield from [literal(name)] if is_named else []
                yield from [] if is_boolean and value == "true" else [value]

    def _value(
        self, item: Mapping[str, Any], name: str, is_secret: bool = False, needed: bool = False
    ) -> str | None:
        """Return a value in the syntax of entries, None for one that is left out."""
        if "value" in item:
            return self._filled(_text(item["value"]), item.get("variables", {}), is_secret)
        if name in self._given:
            return self._given[name]
        if "default" in item:
            return literal(_text(item["default"]))
        if not needed and not item.get("isRequired"):
            self.left_out.append(name)
            return None
        name = re.sub("[{}]", "", name)
        asked = {
            "id": name,
            "description": item.get("description"),
            "password": item.get("isSecret", False),
            "required": True,
            "options": item.get("choices"),
        }
        self.inputs.append({key: value for key, value in asked.items() if value})
        return f"${{input:{name}}}"

    def _filled(self, text: str, variables: Mapping[str, Any], is_secret: bool) -> str:
        """Return a string with the values of its ``{variables}``.

        ``is_secret``: one that is not declared is a secret; elsewhere it stays as it is.
        """

        def value_of(match: re.Match[str]) -> str | None:
            key = match[1]
            if key not in variables and not is_secret:
                return None
            value = self._value(variables.get(key, {"isSecret": True}), key, needed=True) or ""
            self._size += len(value) + 1
            if self._size > _MAX_VALUES:
                raise EntryError("its variables have too many values")
            return value

        return with_values(_IN_BRACES, text, value_of)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _camel(value: Any) -> Any:
    """Return a value with the names of fields as the newest schema has them."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    camel = {re.sub("(?<!^)_([a-z])", lambda found: found[1].upper(), key): key for key in value}
    return {_RENAMED.get(name, name): _camel(value[key]) for name, key in camel.items()}

"""The entry of a server that a bundle describes.

The variables of a manifest are defined by its format, without exception: a bundle learns nothing
from the environment or from files. Its other text stays as it is, also where it looks like a
variable.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import safe_repr
from ...formats.jsonc import JsoncError, parse_jsonc
from ...framing.escaping import escape_line
from ...net.paths import absolute_path
from ...net.user_folders import home_folder
from ...suggestions import there_is_no
from ..entry import EntryError, kind_of_value, not_a
from ..variables import (
    Inputs,
    InputSpec,
    Variables,
    folders_of,
    has_references,
    input_specs,
    literal,
    references,
    with_values,
)
from .archive import MANIFEST, Archive, Bundle, read_archive

SCALAR = (str, bool, int, float)
_KINDS: dict[Any, str] = {
    str: "a string",
    bool: "true or false",
    (int, float): "a number",
    SCALAR: "a string, a number, or true or false",
}

_VARIABLE = re.compile(
    r"\$\{(?:user_config\.(?P<key>[^{}]+)"
    r"|(?P<name>__dirname|HOME|DESKTOP|DOCUMENTS|DOWNLOADS|pathSeparator|/))\}"
)
_INSIDE = "${__dirname}/"
_VERSION = re.compile(r"0\.[0-9]+")
_PYTHONS = {"python": "python3", "python3": "python"}

_PROCESS = {"command?": str, "args?": [str], "env?": {"*": str}}
_OPTION = {
    "type": frozenset({"string", "number", "boolean", "directory", "file"}),
    **dict.fromkeys(("title?", "description?"), str),
    **dict.fromkeys(("required?", "multiple?", "sensitive?"), bool),
    **dict.fromkeys(("min?", "max?"), (int, float)),
    "default?": object,
}
_SHAPE = {
    **dict.fromkeys(("dxt_version?", "manifest_version?", "name"), str),
    "compatibility?": {"platforms?": [str]},
    "server": {
        "type": frozenset({"node", "python", "binary", "uv"}),
        "entry_point?": str,
        "mcp_config?": {**_PROCESS, "platform_overrides?": {"*": _PROCESS}},
    },
    "user_config?": {"*": _OPTION},
}


def fitted(value: Any, shape: Any, *path: str | int) -> Any:
    """Return a value without nulls and without fields that its shape does not have.

    A shape is a type or a tuple of types, a frozenset of strings, a list with the shape of its
    items, or a mapping of its fields: ``"name?"`` may be missing, ``"*"`` is any other
    name. Raises `EntryError` with the path of a value that does not fit.
    """
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            raise not_a("an object", value, *path)
        others = dict.fromkeys(value, shape["*"]) if "*" in shape else {}
        found = {}
        for name, inner in {**others, **shape}.items():
            key = name.rstrip("?") if name in shape else name
            if value.get(key) is not None:
                found[key] = fitted(value[key], inner, *path, key)
            elif name in shape and name == key != "*":
                raise EntryError("is missing", *path, key)
        return found
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise not_a("a list", value, *path)
        return [fitted(item, shape[0], *path, index) for index, item in enumerate(value)]
    if isinstance(shape, frozenset):
        if not isinstance(value, str) or value not in shape:
            names = ", ".join(sorted(shape))
            raise EntryError(f"must be one of {names}, not {safe_repr(value)}", *path)
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape == (int, float)):
        raise not_a(_KINDS[shape], value, *path)
    return value


class OpenedEntry(NamedTuple):
    """An entry that names a bundle, or has inputs of its own, as an ordinary one.

    ``name``: the bundle's. ``inputs``: all that it may ask for. ``bundle``: the one that has to be
    unpacked before the server starts.
    """

    name: str
    raw: dict[str, Any]
    inputs: tuple[InputSpec, ...]
    bundle: Bundle | None = None


def open_entry(written: Mapping[str, Any], source: str, base: str, name: str = "") -> OpenedEntry:
    """Return an entry with the command of its bundle, and with its inputs.

    ``source``: the file that it stands in, and ``name``: its name there; answers are kept for this
    entry alone. ``base``: where relative paths begin. Raises `EntryError`.
    """
    path = written.get("bundle")
    if path is None:
        opened = OpenedEntry(name, dict(written), tuple(input_specs(written.get("inputs"))))
    elif not isinstance(path, str):
        raise not_a("a string", path, "bundle")
    else:
        for each in ("command", "args", "url"):
            if each in written:
                raise EntryError(f"{each} cannot be combined with a bundle", each, hint="remove it")
        around = absolute_path(base)
        folders = folders_of(around, around, str(home_folder(os.environ)))
        variables = Variables(os.environ, Inputs(None, None), folders, lambda file: file)
        named = variables.required(path, "bundle", "set it, or write the path itself")
        path = absolute_path(os.path.join(base, named))
        archive = read_archive(path)
        if written.get("sha256", archive.sha256) != archive.sha256:
            message = f"the bundle has changed: its SHA-256 is {archive.sha256}"
            hint = "look at it; mcpclient add --replace accepts it"
            raise EntryError(message, "sha256", hint=hint)
        opened = _Manifest(archive, Bundle(path, archive.sha256)).entry(written)
    owner = [os.path.realpath(source), name, written, opened.bundle]
    text = json.dumps(owner, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    key = f"input {hashlib.sha256(text).hexdigest()}"
    kept = (replace(spec, kept=f"{key} {spec.id}") for spec in opened.inputs)
    return opened._replace(inputs=tuple(kept))


def require_inputs(
    specs: Sequence[InputSpec], raw: Mapping[str, Any], variables: Variables
) -> None:
    """Raise `EntryError` for an input that an entry needs, and that has no value."""
    used = references(raw, "input")
    field = "config" if "bundle" in raw else "inputs"
    for spec in specs:
        if spec.need != "required":
            continue
        if spec.written is not None:
            found = [variables.expand(text) for text in spec.written]
            if not any(each.text.strip() for each in found):
                missing = ", ".join(name for each in found for name in each.missing)
                hint = f"set {missing}" if missing else "write it, or leave the option out"
                raise EntryError("it needs a value, and has none", field, spec.id, hint=hint)
        elif spec.id in used and not variables.inputs.value(spec.id):
            hint = "it is asked for on a terminal, when the server is named"
            raise EntryError("it needs a value", field, spec.id, hint=hint)


class _Manifest:
    def __init__(self, archive: Archive, bundle: Bundle) -> None:
        content = archive.manifest()
        try:
            self._value = fitted(parse_jsonc(content.decode("utf-8")), _SHAPE)
        except UnicodeDecodeError:
            raise _wrong("it is not UTF-8") from None
        except JsoncError as error:
            raise _wrong(f"it is not JSON: {error} (line {error.line})") from None
        except EntryError as error:
            raise _wrong(str(error), *error.path) from None
        home = home_folder(os.environ)
        self._folders = {
            "__dirname": bundle.folder,
            "HOME": str(home),
            **{name.upper(): str(home / name) for name in ("Desktop", "Documents", "Downloads")},
            "pathSeparator": os.sep,
            "/": os.sep,
        }
        self._names = archive.names
        self._bundle = bundle
        declared = self._value.get("user_config", {})
        self._options = {key: self._option(key, each) for key, each in declared.items()}
        self._config: dict[str, list[str]] = {}

    def entry(self, written: Mapping[str, Any]) -> OpenedEntry:
        """Return the entry; ``written``: its fields beside the bundle, and the user's values."""
        manifest = self._value
        version = manifest.get("dxt_version", manifest.get("manifest_version", "none"))
        if not _VERSION.fullmatch(version):
            raise _wrong(f"version {safe_repr(version)} is not known", "manifest_version")
        if not manifest["name"].strip() or not manifest["name"].isprintable():
            raise _wrong("must be a name in one line", "name")
        platforms = manifest.get("compatibility", {}).get("platforms")
        if platforms and sys.platform not in platforms:
            message = f"the bundle does not support {sys.platform}"
            raise _wrong(message, "compatibility", "platforms")
        self._config = dict(self._given(written.get("config")))
        process = self._process()
        program, env = self._file(process["command"]), written.get("env")
        raw = {
            **{key: value for key, value in written.items() if key not in ("config", "inputs")},
            "command": self._put(f"{_INSIDE}{program}" if program else _python(process["command"])),
            "args": list(self._words(process.get("args", ()))),
            "env": {
                **{key: self._put(text) for key, text in process.get("env", {}).items()},
                **(env if isinstance(env, Mapping) else {}),
            },
            "cwd": written.get("cwd") or literal(self._bundle.folder),
            "bundle": self._bundle.path,
            "sha256": self._bundle.sha256,
        }
        is_uv = manifest["server"]["type"] == "uv"
        bundle = self._bundle._replace(program=program, writable=is_uv)
        specs = (
            replace(spec, written=tuple(self._config[key])) if key in self._config else spec
            for key, spec in self._options.items()
        )
        return OpenedEntry(manifest["name"], raw, tuple(specs), bundle)

    # The values that the user gives

    def _option(self, key: str, declared: Mapping[str, Any]) -> InputSpec:
        several, kind = declared.get("multiple", False), declared["type"]
        texts = [declared.get("title"), declared.get("description")]
        if several:
            texts.append(f"several are separated by {os.pathsep}")
        spec = InputSpec(
            id=key,
            description=": ".join(filter(None, texts)),
            kind=kind,
            choices=("true", "false") if kind == "boolean" else (),
            password=declared.get("sensitive", False),
            several=several,
            need="required" if declared.get("required") else "optional",
        )
        if "default" not in declared:
            return spec
        try:
            words = list(_values(declared, declared["default"]))
        except ValueError as error:
            raise _wrong(str(error), "user_config", key, "default") from None
        default = _VARIABLE.sub(
            lambda match: self._folders.get(match["name"], match.group()), "\n".join(words)
        )
        return replace(spec, default=default)

    def _given(self, config: Any) -> Iterator[tuple[str, list[str]]]:
        if not isinstance(config, (Mapping, type(None))):
            raise not_a("an object", config, "config")
        for key, value in (config or {}).items():
            if key not in self._options:
                message = there_is_no("option", key, self._options, "in the bundle's user_config")
                raise EntryError(message, "config", key)
            is_line = self._options[key].several and isinstance(value, str)
            try:
                words = value.split(os.pathsep) if is_line else value
                yield key, list(_values(self._value["user_config"][key], words))
            except ValueError as error:
                raise EntryError(str(error), "config", key) from None

    # The process

    def _process(self) -> dict[str, Any]:
        server = self._value["server"]
        process = server.get("mcp_config", {})
        if server["type"] == "uv" and not process and "entry_point" in server:
            args = ["run", "--directory", "${__dirname}", server["entry_point"]]
            return {"command": "uv", "args": args}
        process = {**process, **process.get("platform_overrides", {}).get(sys.platform, {})}
        if not process.get("command"):
            raise _wrong("is missing", "server", "mcp_config", "command")
        return process

    def _file(self, word: str) -> str:
        """Return the name of the bundle's file that a word stands for, or ""."""
        name = re.sub(r"^(?:\$\{__dirname\}|\.)(?:[/\\]|\$\{/\})", "", word).replace("\\", "/")
        endings = ("", ".exe") if sys.platform == "win32" else ("",)
        return next((name + end for end in endings if name + end in self._names), "")

    def _words(self, args: Sequence[str]) -> Iterator[str]:
        for word in args:
            match = _VARIABLE.fullmatch(word)
            if match is not None and match["key"] in self._config:
                yield from self._config[match["key"]]
            else:
                name = self._file(word)
                yield self._put(f"{_INSIDE}{name}" if name else word)

    def _put(self, text: str) -> str:
        """Return a string in the syntax of entries: no part of it is a variable by chance."""
        return with_values(_VARIABLE, text, self._variable)

    def _variable(self, match: re.Match[str]) -> str:
        key = match["key"]
        if key is None:
            return literal(self._folders[match["name"]])
        if key in self._config:
            return os.pathsep.join(self._config[key])
        if key not in self._options:
            raise _wrong(f"{match.group()} is not among its user_config", "server")
        return f"${{input:{key}}}"


def _wrong(message: str, *path: str | int) -> EntryError:
    place = f"{'.'.join(map(str, path))!s:.200}: " if path else ""
    return EntryError(escape_line(f"{MANIFEST}: {place}{message}"), "bundle")


def _values(declared: Mapping[str, Any], value: Any) -> Iterator[str]:
    """Yield the values of an option as strings. Raises ValueError for one that does not fit."""
    kind = declared["type"]
    if isinstance(value, list):
        for item in value:
            yield from _values(declared, item)
    elif isinstance(value, str) and (kind not in ("number", "boolean") or has_references(value)):
        yield value  # of a reference, the value is not known yet
    elif kind == "boolean" and (isinstance(value, bool) or value in ("true", "false")):
        yield str(value).lower()
    elif kind == "number" and isinstance(value, (int, float, str)) and not isinstance(value, bool):
        number = _number(value)
        if not declared.get("min", number) <= number <= declared.get("max", number):
            raise ValueError("must be a number within its bounds")
        yield str(int(number)) if number.is_integer() else str(number)
    else:
        raise ValueError(f"must be a {kind}, not {kind_of_value(value)}")


def _number(value: float | str) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")  # within no bounds


def _python(command: str) -> str:
    other = _PYTHONS.get(command, command)
    return other if shutil.which(command) is None and shutil.which(other) else command

"""The entry of a server that a bundle describes.

The variables of a manifest are those of its format and no others: a bundle learns nothing from the
environment or from files. Its other text stays text, whatever it looks like.
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
from ...net.paths import absolute_path, home_folder
from ...suggestions import there_is_no
from ..entry import EntryError, kind_of_value
from ..variables import Inputs, InputSpec, Literals, has_references, input_specs, references
from .archive import MANIFEST, Archive, Bundle, read_archive

_VARIABLE = re.compile(
    r"\$\{(?:user_config\.(?P<key>[^{}]+)"
    r"|(?P<name>__dirname|HOME|DESKTOP|DOCUMENTS|DOWNLOADS|pathSeparator|/))\}"
)
_INSIDE = "${__dirname}/"
_VERSION = re.compile(r"0\.[0-9]+")
_TYPES = ("node", "python", "binary", "uv")
_OPTIONS = ("string", "number", "boolean", "directory", "file")
_PYTHONS = {"python": "python3", "python3": "python"}
_KINDS: Mapping[str, tuple[type, ...]] = {
    "a string": (str,),
    "true or false": (bool,),
    "a number": (int, float),
    "an object": (Mapping,),
    "a list": (list,),
}
_REQUIRED: Any = object()


class OpenedEntry(NamedTuple):
    """An entry that names a bundle, or has inputs of its own, as an ordinary one.

    ``name``: the bundle's. ``inputs``: all that it may ask for. ``bundle``: what has to be unpacked
    before the server starts, if anything.
    """

    name: str
    raw: dict[str, Any]
    inputs: tuple[InputSpec, ...]
    bundle: Bundle | None = None


def open_entry(written: Mapping[str, Any], source: str, base: str, name: str = "") -> OpenedEntry:
    """Return an entry with the command of its bundle, and with its inputs.

    ``source``: the file that it stands in, for whose entry alone answers are kept. ``base``: where
    relative paths begin. ``name``: of the server, by default the bundle's. Raises `EntryError`.
    """
    path = written.get("bundle")
    if path is None:
        kept = _kept(input_specs(written.get("inputs")), source, name, written)
        return OpenedEntry(name, dict(written), kept)
    if not isinstance(path, str):
        raise EntryError(f"must be a string, not {kind_of_value(path)}", "bundle")
    for field in ("command", "args", "url"):
        if field in written:
            raise EntryError(f"{field} cannot be combined with a bundle", field, hint="remove it")
    path = absolute_path(os.path.join(base, os.path.expanduser(path)))
    archive = read_archive(path)
    if written.get("sha256", archive.sha256) != archive.sha256:
        message = f"the bundle is another one now, of SHA-256 {archive.sha256}"
        raise EntryError(message, "sha256", hint="look at it; mcpclient add --replace accepts it")
    manifest = _Manifest(archive, Bundle(path, archive.sha256), written.get("config"))
    opened = manifest.entry(written)
    kept = _kept(opened.inputs, source, name or opened.name, written, archive.sha256)
    return opened._replace(inputs=kept)


def _kept(specs: Sequence[InputSpec], *owner: object) -> tuple[InputSpec, ...]:
    """Return inputs with the names under which their answers are kept."""
    text = json.dumps(owner, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return tuple(replace(spec, kept=f"input {digest} {spec.id}") for spec in specs)


def require_inputs(specs: Sequence[InputSpec], raw: Mapping[str, Any], inputs: Inputs) -> None:
    """Raise `EntryError` for an input that an entry needs, and that has no value."""
    used = references(raw, "input")
    field = "config" if "bundle" in raw else "inputs"
    for spec in specs:
        if spec.need == "required" and spec.id in used and not inputs.value(spec.id):
            hint = "it is asked for on a terminal, when the server is named"
            raise EntryError("it needs a value", field, spec.id, hint=hint)


class _Manifest:
    """A manifest, read field by field. ``config``: the user's values for its ``user_config``."""

    def __init__(self, archive: Archive, bundle: Bundle, config: Any) -> None:
        self._names = archive.names
        self._bundle = bundle
        self._value: Any = None
        content = archive.manifest()
        try:
            self._value = parse_jsonc(content.decode("utf-8"))
        except UnicodeDecodeError:
            raise self._wrong("it is not UTF-8") from None
        except JsoncError as error:
            raise self._wrong(f"it is not JSON: {error} (line {error.line})") from None
        home = home_folder(os.environ)
        self._folders = {
            "__dirname": bundle.folder,
            "HOME": str(home),
            **{name.upper(): str(home / name) for name in ("Desktop", "Documents", "Downloads")},
            "pathSeparator": os.sep,
            "/": os.sep,
        }
        self._literals = Literals()
        declared = self._field("an object", "user_config", default={})
        self._options = {key: self._option(key) for key in declared}
        self._config = dict(self._given(config))

    def entry(self, written: Mapping[str, Any]) -> OpenedEntry:
        """Return the entry; its other fields are those ``written`` beside the bundle."""
        version = self._field("a string", "dxt_version", default=None)
        if version is None:
            version = self._field("a string", "manifest_version")
        if not _VERSION.fullmatch(version):
            raise self._wrong(f"version {safe_repr(version)} is not known", "manifest_version")
        name = self._field("a string", "name")
        if not name.strip() or not name.isprintable():
            raise self._wrong("must be a name in one line", "name")
        platforms = self._field("a list", "compatibility", "platforms", default=[])
        if platforms and sys.platform not in platforms:
            message = f"the bundle does not support {sys.platform}"
            raise self._wrong(message, "compatibility", "platforms")
        command, args, env = self._process()
        program = self._file(command)
        given = written.get("env")
        kept = {key: value for key, value in written.items() if key not in ("config", "inputs")}
        raw = {
            **kept,
            "command": self._put(f"{_INSIDE}{program}" if program else _python(command)),
            "args": list(self._words(args)),
            "env": {
                **{key: self._put(text) for key, text in env.items()},
                **(given if isinstance(given, Mapping) else {}),
            },
            "cwd": written.get("cwd") or self._literals.text(self._bundle.folder),
            "bundle": self._bundle.path,
            "sha256": self._bundle.sha256,
        }
        is_uv = self._field("a string", "server", "type") == "uv"
        bundle = self._bundle._replace(program=program, writable=is_uv)
        inputs = (*self._options.values(), *input_specs(self._literals.declared))
        return OpenedEntry(name, raw, inputs, bundle)

    def _wrong(self, message: str, *path: str | int) -> EntryError:
        field = ".".join(map(str, path))
        return EntryError(f"{MANIFEST}: {f'{field:.200}: ' if path else ''}{message}", "bundle")

    def _field(self, expected: str, *path: str | int, default: Any = _REQUIRED) -> Any:
        """Return a field of this kind; null counts as absent."""
        value = self._value
        for depth, key in enumerate(path):
            if isinstance(value, list) and isinstance(key, int):
                value = value[key]
            elif isinstance(value, Mapping):
                value = value.get(key)
            else:
                raise self._wrong(f"must be an object, not {kind_of_value(value)}", *path[:depth])
            if value is None:
                break
        if value is None and default is not _REQUIRED:
            return default
        if kind_of_value(value) != expected:
            raise self._wrong(f"must be {expected}, not {kind_of_value(value)}", *path)
        return value

    # The values that the user gives

    def _option(self, key: str) -> InputSpec:
        at = ("user_config", key)
        kind = self._field("a string", *at, "type")
        if kind not in _OPTIONS:
            raise self._wrong(f"must be one of {', '.join(_OPTIONS)}", *at, "type")
        several = self._field("true or false", *at, "multiple", default=False)
        texts = [
            self._field("a string", *at, name, default="") for name in ("title", "description")
        ]
        if several:
            texts.append(f"several are separated by {os.pathsep}")
        is_required = self._field("true or false", *at, "required", default=False)
        spec = InputSpec(
            id=key,
            description=": ".join(filter(None, texts)),
            kind=kind,
            choices=("true", "false") if kind == "boolean" else (),
            password=self._field("true or false", *at, "sensitive", default=False),
            several=several,
            need="required" if is_required else "optional",
        )
        default = self._value["user_config"][key].get("default")
        if default is None:
            return spec
        try:
            words = self._values(key, kind, default)
        except ValueError as error:
            raise self._wrong(str(error), *at, "default") from None
        return replace(spec, default="\n".join(map(self._with_folders, words)))

    def _values(self, key: str, kind: str, value: Any) -> list[str]:
        """Return the values of an option as strings. Raises ValueError for what does not fit."""
        if isinstance(value, list):
            return [text for item in value for text in self._values(key, kind, item)]
        if isinstance(value, str) and has_references(value):
            return [value]  # which is not known yet
        if kind == "boolean" and value in (True, False, "true", "false"):
            return [str(value).lower()]
        if kind == "number" and isinstance(value, (int, float, str)):
            return [self._number(key, value)]
        if isinstance(value, str) and kind not in ("number", "boolean"):
            return [value]
        raise ValueError(f"must be a {kind}, not {kind_of_value(value)}")

    def _number(self, key: str, value: float | str) -> str:
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        least = self._field("a number", "user_config", key, "min", default=number)
        most = self._field("a number", "user_config", key, "max", default=number)
        if isinstance(value, bool) or not least <= number <= most:
            raise ValueError("must be a number within its bounds")
        return str(int(number)) if number.is_integer() else str(number)

    def _given(self, config: Any) -> Iterator[tuple[str, list[str]]]:
        if config is not None and not isinstance(config, Mapping):
            raise EntryError(f"must be an object, not {kind_of_value(config)}", "config")
        for key, value in (config or {}).items():
            if key not in self._options:
                message = there_is_no("option", key, self._options, "in the bundle's user_config")
                raise EntryError(message, "config", key)
            spec = self._options[key]
            if spec.several and isinstance(value, str):
                value = value.split(os.pathsep)
            try:
                yield key, self._values(key, spec.kind, value)
            except ValueError as error:
                raise EntryError(str(error), "config", key) from None

    # The process

    def _process(self) -> tuple[str, list[str], Mapping[str, str]]:
        """Return its command, its arguments, and its environment, as the manifest has them."""
        kind = self._field("a string", "server", "type")
        if kind not in _TYPES:
            raise self._wrong(f"must be one of {', '.join(_TYPES)}", "server", "type")
        at: tuple[str, ...] = ("server", "mcp_config")
        if kind == "uv" and self._field("an object", *at, default=None) is None:
            script = self._field("a string", "server", "entry_point")
            return "uv", ["run", "--directory", "${__dirname}", script], {}
        overrides = (*at, "platform_overrides", sys.platform)

        def field(expected: str, name: str, default: Any) -> Any:
            for place in (overrides, at):
                value = self._field(expected, *place, name, default=None)
                if value is not None:
                    for key in value if expected == "an object" else range(len(value)):
                        self._field("a string", *place, name, key)
                    return value
            return self._field(expected, *at, name, default=default)

        command = self._field("a string", *overrides, "command", default=None)
        command = command or self._field("a string", *at, "command")
        return command, field("a list", "args", []), field("an object", "env", {})

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
        parts, position = [], 0
        for match in _VARIABLE.finditer(text):
            parts += [self._literals.text(text[position : match.start()]), self._variable(match)]
            position = match.end()
        return "".join([*parts, self._literals.text(text[position:])])

    def _variable(self, match: re.Match[str]) -> str:
        key = match["key"]
        if key is None:
            return self._literals.text(self._folders[match["name"]])
        if key in self._config:
            return os.pathsep.join(self._config[key])
        if key not in self._options:
            raise self._wrong(f"{match.group()} is not among its user_config", "server")
        return f"${{input:{key}}}"

    def _with_folders(self, text: str) -> str:
        return _VARIABLE.sub(lambda match: self._folders.get(match["name"], match.group()), text)


def _python(command: str) -> str:
    """Return the name under which Python is installed here."""
    other = _PYTHONS.get(command, command)
    return other if shutil.which(command) is None and shutil.which(other) else command

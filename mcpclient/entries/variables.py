"""Variables in the strings of an entry, expanded once after parsing, never recursively.

Known everywhere: ``${NAME}``, ``${NAME:-default}``, ``${env:NAME}``, ``{env:NAME}``,
``${{ secrets.NAME }}``, ``${input:id}``, ``{file:path}``, ``${file:path}``, the folders that
editors name, and ``~`` at the beginning of a path; in Gemini's files ``$NAME`` too. A default
stands for a variable that is not set; one that is set and empty stays empty. Anything else is
text: ``${process.env.X}``, ``%X%``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Union

from ..errors import UsageError, safe_str
from .entry import EntryError

MAX_VALUE_FILE_SIZE = 1024 * 1024
"""The size in bytes of a file that an entry may read values from: .env, or one with a token."""

# Characters of all values in one entry: a short one may name a long value many times.
_MAX_VALUES = 16 * 1024 * 1024

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_BRACED = (
    rf"\$\{{(?:env:(?P<env>[^{{}}:]+)|input:(?P<input>[^{{}}]+)|file:(?P<file>[^{{}}]+)"
    rf"|(?P<name>{_NAME}|/))(?::-(?P<default>[^{{}}]*))?\}}"
    rf"|(?<!\$)\{{env:(?P<braces>{_NAME})\}}|(?<!\$)\{{file:(?P<content>[^{{}}]+)\}}"
    rf"|\$\{{\{{\s*(?:secrets|env|inputs)\.(?P<secret>{_NAME})\s*\}}\}}"
)
# Placeholders for missing values: of other templates, of a shell, or written by hand.
_TO_COME = re.compile(r"\$[{(]|\{\{|<[A-Z][A-Z _-]+>")
_HOME = re.compile(r"~(?:[/\\]|$)")
_USUAL = re.compile(_BRACED)
_WITH_DOLLAR = re.compile(rf"{_BRACED}|\$(?P<dollar>{_NAME})")


@dataclass(frozen=True)
class InputSpec:
    """A value that the user is to be asked for.

    ``id``: its name in ``${input:id}``. ``kind``: ``"promptString"``, ``"pickString"`` (one of
    ``choices``) or ``"command"``.
    ``password``: the answer is not shown. ``several``: the value has one or more lines. ``need``:
    without a ``"required"`` one the server does not start; one that is ``"optional"`` is left out
    in silence. ``kept``: the key of its answer among the user's credentials. ``written``: the
    strings that an entry has in its place, if any, so that it is not asked for.
    """

    id: str
    description: str = ""
    kind: str = "promptString"
    default: str | None = field(default=None, repr=False)
    choices: tuple[str, ...] = ()
    password: bool = False
    several: bool = False
    need: Literal["", "required", "optional"] = ""
    kept: str = ""
    written: tuple[str, ...] | None = field(default=None, repr=False)


InputsOption = Union[Mapping[str, str], Callable[[InputSpec], "str | None"], None]
"""Values by their ids, or a function that asks for one and returns None when there is none."""


class Inputs:
    """The inputs that a file declares, each asked for once and only when it is needed.

    ``recall``: returns an answer that was kept under a key, or None.
    """

    def __init__(
        self,
        declared: Any,
        given: InputsOption,
        recall: Callable[[str], str | None] = lambda key: None,
    ) -> None:
        self._given = given
        self._recall = recall
        self._answers: dict[str, str | None] = {}
        self.specs: dict[str, InputSpec] = {spec.id: spec for spec in input_specs(declared)}

    def value(self, name: str) -> str | None:
        """Return the value of an input, or None. Passes on exceptions of the caller's function."""
        if name in self._answers:
            return self._answers[name]
        spec, given = self.specs.get(name, InputSpec(name)), self._given
        answer = None if callable(given) else (given or {}).get(name)
        recalled = self._recall(spec.kept) if answer is None and spec.kept else None
        if recalled:
            answer = recalled
        elif answer is None and recalled is None and callable(given):  # else none was given
            answer = given(spec)
        if answer is not None and not isinstance(answer, str):
            raise UsageError(f"the input {name!r} must be a string, not {type(answer).__name__}")
        self._answers[name] = spec.default if answer is None else answer
        return self._answers[name]

    def words(self, name: str) -> list[str] | None:
        """Return the values of an input that may have several; None for another one."""
        if name not in self.specs or not self.specs[name].several:
            return None
        value = self.value(name) or ""
        lines = value.split("\n" if "\n" in value else os.pathsep)
        return [line.strip() for line in lines if line.strip()]

    def used_in(self, written: Any) -> dict[str, Any]:
        """Return the declared inputs that a value refers to, as JSON objects."""
        if not self.specs:  # as in most files
            return {}
        used = references(written, "input")
        specs = [replace(self.specs[name], kept="") for name in used if name in self.specs]
        return {spec.id: asdict(spec) for spec in specs}


def input_specs(declared: Any) -> list[InputSpec]:
    """Return the inputs in a list of them, as files write them or as `InputSpec`."""
    return [
        item if isinstance(item, InputSpec) else _spec_of(item)
        for item in (declared if isinstance(declared, (list, tuple)) else ())
        if isinstance(item, InputSpec)
        or (isinstance(item, Mapping) and isinstance(item.get("id"), str))
    ]


def literal(text: str) -> str:
    """Return a string that the expansion of variables turns into this one."""
    return re.sub("[${]", lambda sign: "${dollar}" if sign[0] == "$" else "${brace}", text)


def with_values(
    pattern: re.Pattern[str], text: str, value_of: Callable[[re.Match[str]], str | None]
) -> str:
    """Return a string with the values of what matches; None: it stays, as all around it."""
    parts, position = [], 0
    for match in pattern.finditer(text):
        value = value_of(match)
        if value is not None:
            parts += [literal(text[position : match.start()]), value]
            position = match.end()
    return "".join([*parts, literal(text[position:])])


def _spec_of(item: Mapping[str, Any]) -> InputSpec:
    default = item.get("default")
    choices = item.get("options")
    words = [
        option.get("value") if isinstance(option, Mapping) else option
        for option in (choices if isinstance(choices, list) else ())
    ]
    return InputSpec(
        id=item["id"],
        description=safe_str(item.get("description") or ""),
        kind=safe_str(item.get("type") or "promptString"),
        default=default if isinstance(default, str) else None,
        choices=tuple(word for word in words if isinstance(word, str)),
        password=item.get("password") is True,
        need="required" if item.get("required") is True else "",
    )


def folders_of(workspace: str, around: str, home: str) -> dict[str, str]:
    """Return the folders that variables name (the project's, the file's, the user's), and signs."""
    return {
        **dict.fromkeys(
            ("workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR", "cwd"), workspace
        ),
        "workspaceFolderBasename": os.path.basename(workspace),
        **dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "extensionPath", "fileDirname"), around),
        "userHome": home,
        **dict.fromkeys(("pathSeparator", "/"), os.sep),
        "dollar": "$",
        "brace": "{",
    }


@dataclass(frozen=True)
class Expanded:
    """A string with the values of its variables.

    ``missing``: those that have none, as written; ``omitted``: an optional one has none.
    """

    text: str = field(repr=False)
    missing: tuple[str, ...] = ()
    omitted: bool = False


@dataclass(repr=False, eq=False)
class Variables:
    """The values of the variables in one file.

    ``folders``: the values of ``${workspaceFolder}`` and the like. ``read``: returns the text of a
    file named by a path, or raises `OSError`. ``bare_dollar``: ``$NAME`` is a variable too.
    """

    environ: Mapping[str, str]
    inputs: Inputs
    folders: Mapping[str, str]
    read: Callable[[str], str]
    bare_dollar: bool = False
    _size: int = field(default=0, init=False)

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _WITH_DOLLAR if self.bare_dollar else _USUAL

    def expand(self, text: str, *, is_path: bool = False, keep_missing: bool = False) -> Expanded:
        """Expand variables. Passes on exceptions of the caller's function.

        ``is_path``: a ``~`` at the beginning is the user's folder. Variables without a value become
        empty, or stay as written with ``keep_missing``. Raises `EntryError` for values that are too
        long, all that were put in so far taken together.
        """
        missing: list[str] = []
        omitted: list[str] = []

        def value_of(match: re.Match[str]) -> str:
            value = self._value(match)
            if value is not None:
                self._size += len(value)
                if self._size > _MAX_VALUES:
                    hint = "write the long value into a file, and name that"
                    raise EntryError("the values of its variables are too long", hint=hint)
                return value
            spec = self.inputs.specs.get(match["input"] or "")
            if spec is not None and spec.need == "optional":
                omitted.append(spec.id)
                return ""
            missing.append(match.group())
            return match.group() if keep_missing else ""

        start, rest = self._split_home(text) if is_path else ("", text)
        text = start + self._pattern.sub(value_of, rest)
        return Expanded(text, tuple(missing), bool(omitted))

    def required(self, path: str, field: str, hint: str = "") -> str:
        """Return a path with its values. Raises `EntryError`, at ``field``, for a missing one."""
        found = self.expand(path, is_path=True)
        if found.missing:
            raise EntryError(f"{', '.join(found.missing)} has no value", field, hint=hint)
        return found.text

    def words(self, text: str) -> list[str] | None:
        """Return the values for a string that is one input with several; None for another one."""
        match = self._pattern.fullmatch(text)
        return None if match is None or not match["input"] else self.inputs.words(match["input"])

    def holds_more(self, text: str) -> bool:
        """Whether a string seems to have placeholders other than its variables."""
        return _TO_COME.search(self._pattern.sub("", text)) is not None

    def _value(self, match: re.Match[str]) -> str | None:
        found = {key: text for key, text in match.groupdict().items() if text is not None}
        default = found.pop("default", None)
        ((kind, name),) = found.items()
        if kind == "input":
            several = self.inputs.words(name)
            value = self.inputs.value(name) if several is None else os.pathsep.join(several)
        elif kind in ("file", "content"):
            value = self._content(name)
        elif kind == "name" and name in self.folders:
            value = self.folders[name]
        else:
            value = self.environ.get(name)
        return default if value is None else value

    def _content(self, name: str) -> str | None:
        path = "".join(self._split_home(name))
        path = os.path.join(self.folders.get("fileDirname", ""), path)
        try:
            return self.read(path).strip()
        except OSError:
            return None

    def _split_home(self, path: str) -> tuple[str, str]:
        """Return the user's folder that a ``~`` stands for, or "", and the rest of the path."""
        if _HOME.match(path):
            return self.folders.get("userHome", "~"), path[1:]
        return "", path


def references(value: Any, kind: str) -> list[str]:
    """Return the names of one ``kind`` that the strings of a value refer to, such as its inputs.

    The keys of objects are among the strings. A name stands once, in the order of the value.
    """
    found = (
        match[kind]
        for text in strings_in(value)
        if "$" in text or "{" in text
        for match in _WITH_DOLLAR.finditer(text)
        if match[kind] is not None
    )
    return list(dict.fromkeys(found))


def has_references(text: str) -> bool:
    """Return whether a string refers to a variable, an input or a file."""
    return _WITH_DOLLAR.search(text) is not None


def without_references(text: str, defaults: Mapping[str, str] | None = None) -> str:
    """Return a string without its variables, but with their defaults; ``defaults``: of inputs."""
    given = defaults or {}
    return _USUAL.sub(lambda match: match["default"] or given.get(match["input"] or "", ""), text)


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value, the keys of its objects included."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, (dict, Mapping)):  # a dict is recognized in less time
            pending += [part for item in reversed(list(each.items())) for part in reversed(item)]
        elif isinstance(each, (list, tuple)):
            pending += reversed(each)


_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the variables of a .env file, unexpanded, and the numbers of its invalid lines."""
    found: dict[str, str] = {}
    wrong: list[int] = []
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            wrong.append(number)
            continue
        name, value = match.groups()
        quoted = _QUOTED.match(value)
        if quoted is None:
            found[name] = re.split(r"\s#", value, maxsplit=1)[0].strip()
        elif quoted.group(2) is not None:
            found[name] = quoted.group(2)
        else:
            found[name] = _ESCAPE.sub(
                lambda escape: _ESCAPES.get(escape.group(1), escape.group(1)), quoted.group(1)
            )
    return found, wrong

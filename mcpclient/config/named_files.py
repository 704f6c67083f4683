"""The files that an entry names: their contents decide what runs, and the sheet has the digests."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..entries.entry import Entry, EntryError
from ..entries.resolve import is_shell
from ..entries.variables import Variables, parse_dotenv, references, without_references
from ..net.regular_files import read_file
from ..net.user_folders import bundle_folder

# Larger files are identified by size and time: reading them would delay every start.
_MAX_READ_SIZE = 64 * 1024 * 1024
_MAX_READ_IN_ALL = 512 * 1024 * 1024
# Each may name a file, which is looked up and digested before the user is asked.
_MAX_WORDS = 10_000
_MAX_PATHS = 200_000
# Where a word of a command, or a line for a shell, may have the path of a file inside it.
_AROUND_PATHS = re.compile(rf"[\s;|&<>(){{}}\[\]`?*'\"=,@{os.pathsep}]+")
_BEGIN_OF_PATH = re.compile(r"(?<![./])(?=\.{1,2}/|~/)")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
# Letters of options before a path in one word, as in -vr./hook.js.
_MAX_CLUSTER = 8
# The ways to write the working directory in a line for a shell, and other variables of it.
_HERE = re.compile(r"\$PWD\b|\$\{PWD\}|\$\(pwd\)|`pwd`|%CD%")
_SHELL_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
# What these add to the name of a script, a module or a folder.
_INTERPRETER = re.compile(r"\b(?:python|pypy|node|deno|bun|tsx|ts-node|ruby|perl|php|uv|pipx)")
_ENDINGS = (
    *(".js", ".cjs", ".mjs", ".ts", ".tsx", ".json", ".node"),
    *(".py", ".pyc", ".so", ".rb", ".sh", ".pm", ".lua"),
    *("/__main__.py", "/__init__.py", "/index.js", "/package.json"),
)
# Patterns that name files, and in a line for a shell names that are made while it runs.
_PATTERN = re.compile(r"(?<!\$)[*?]|\[[^]\s]+\]")
_MADE_IN_A_SHELL = re.compile(
    rf"{_PATTERN.pattern}|`|\$[('\"]|\$\{{?\w+\}}?[\"']?[./]|[./][\"']?\$[\w{{]|[\w./][\\'\"]+[\w./]"
    r"|\$\{\w+[^\w}]|\{[^}]*(?:,|\.\.)|(?<!\w)~[+\w-]"
)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class NamedFile(NamedTuple):
    """A file that an entry names, and the digest of its content; "" where there is none."""

    path: str
    digest: str


def _real(path: str) -> str:
    with suppress(ValueError):  # for a NUL, which the reader of files refuses
        path = os.path.realpath(path)
    return path


class NamedFiles:
    """The files that an entry names, each read once: the judged content is the one used."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes | OSError] = {}
        self._digests: dict[str, str] = {}
        self._size = 0

    def read(self, path: str) -> bytes:
        """Return a file's content. Raises as `read_file`, and `EntryError` for too much in all."""
        real = _real(path)
        if real not in self._contents:
            try:
                read = self._contents[real] = read_file(path, limit=_MAX_READ_SIZE)
                self._size += len(read)
            except OSError as error:
                self._contents[real] = error
            if self._size > _MAX_READ_IN_ALL:
                text = f"the files that it names are larger than {_MAX_READ_IN_ALL} bytes together"
                raise EntryError(text)
        content = self._contents[real]
        if isinstance(content, OSError):
            raise content
        return content

    def digest(self, path: str, *, is_used: bool = True) -> str:
        """Return the digest of a file's content, "" where there is none.

        A file that is too large or not readable is identified by its size and time. ``is_used``:
        the content is kept for `read`. Raises `EntryError` as `read` does.
        """
        real = _real(path)
        if real not in self._digests:
            self._digests[real] = self._digest(path)
            if not is_used:
                self._contents.pop(real, None)
        return self._digests[real]

    def _digest(self, path: str) -> str:
        try:
            return hashlib.sha256(self.read(path)).hexdigest()
        except OSError:
            pass
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return ""
        return hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode()).hexdigest()


def named_files(
    entry: Entry,
    written: Mapping[str, Any],
    variables: Variables,
    base: str,
    around: str,
    files: NamedFiles,
) -> Iterator[NamedFile]:
    """Yield the files that an entry names: by ``envFile``, ``{file:…}``, in its command and env.

    ``base``: where relative paths begin; ``around``: where the paths of ``{file:…}`` begin.
    ``variables``: their values, without asking for any. Raises `EntryError` for too many words or
    values.
    """

    def path_of(text: str, folder: str) -> str:
        # As it is opened: ".." behind a link leads elsewhere than the text of the path says.
        return os.path.join(folder, variables.expand(text, is_path=True, keep_missing=True).text)

    cwd = os.path.normpath(path_of(entry.cwd or "", base))
    from_file: Iterable[str] = ()
    if entry.env_file:
        path = path_of(entry.env_file, base)
        yield NamedFile(path, files.digest(path))
        with suppress(OSError):
            from_file = parse_dotenv(files.read(path).decode("utf-8", "replace"))[0].values()
    for kind in ("file", "content"):
        for name in references(written, kind):
            path = path_of(name, around)
            yield NamedFile(path, files.digest(path))
    as_written = (*entry.command, *entry.env.values(), *from_file, entry.headers_helper or "")
    texts = [*as_written]
    # As they are used, too: a value may hold a path, and a missing one is empty, or a shell's.
    for keep in (True, False):
        texts += [
            variables.expand(text, keep_missing=keep).text for text in dict.fromkeys(as_written)
        ]
    # The digest of a bundle covers its files, which may not be unpacked yet.
    folder = str(bundle_folder(os.environ, entry.sha256)) + os.sep if entry.sha256 else ""
    seen: set[str] = set()
    texts = [_with_env(text, entry.env) for text in dict.fromkeys(texts)]
    for path in _paths_in(texts, cwd, path_of):
        is_inside = folder and path.startswith(folder) and ".." not in re.split(r"[/\\]", path)
        if not is_inside and os.path.isfile(path) and _real(path) not in seen:
            seen.add(_real(path))  # a word and its parts may name one file
            yield NamedFile(path, files.digest(path, is_used=False))


def _with_env(text: str, env: Mapping[str, str]) -> str:
    """Return a line as a shell reads it that has the variables of an entry."""
    if "$" not in text and "`" not in text and "%" not in text:
        return text
    here = _HERE.sub(".", text)
    return _SHELL_VARIABLE.sub(lambda match: env.get(match[1], match[0]), here)


def _paths_in(texts: Sequence[str], cwd: str, path_of: Callable[[str, str], str]) -> Iterator[str]:
    """Yield the paths that words may mean, in a working directory and in the folders they name."""
    words = dict.fromkeys(word for text in dict.fromkeys(texts) for word in _words_in(text) if word)
    paths = {path_of(word, cwd): word for word in words}
    # As in `cd folder && ./run`, or `--directory folder run.py`.
    named = dict.fromkeys(os.path.normpath(path) for path in paths if os.path.isdir(path))
    folders = [folder for folder in named if folder != cwd]
    if len(words) > _MAX_WORDS or len(words) * len(folders) * len(_ENDINGS) > _MAX_PATHS:
        raise EntryError(
            f"its command and env have more than {_MAX_WORDS} words, each of which may name a file "
            "that the user would agree to",
            hint="write the long value into a file, and name that",
        )
    for folder in folders:
        paths.update((path_of(word, folder), word) for word in words)
    runs_scripts = _INTERPRETER.search("\n".join(texts)) is not None
    for path, word in paths.items():
        yield path
        if "/" in word or (runs_scripts and word[0] != "-"):
            yield from (path + ending for ending in _ENDINGS)


def _words_in(text: str) -> Iterator[str]:
    """Yield the possible paths in a word of a command: the whole word, and its parts."""
    yield text
    yield from (one or other for one, other in _QUOTED.findall(text))
    for part in _AROUND_PATHS.split(text):
        yield part
        if part[:1] == "-" and part[:2] != "--":
            yield from (part[end:] for end in range(2, min(len(part), _MAX_CLUSTER + 2)))
        yield from (part[match.start() :] for match in _BEGIN_OF_PATH.finditer(part))
        if _MODULE.fullmatch(part):
            yield part.replace(".", "/")


def uncompared(entry: Entry) -> list[str]:
    """Return the words of an entry that name files by a pattern, or only while a shell runs.

    The contents of those files are not among `named_files`.
    """
    found = []
    in_shell = False
    lines = [(word, False) for word in entry.command]
    if entry.headers_helper:
        lines.append((entry.headers_helper, True))
    for text, is_line in lines:
        kind = _MADE_IN_A_SHELL if is_line or in_shell else _PATTERN
        for word in _HERE.sub(".", text).split():
            is_path = kind is _MADE_IN_A_SHELL or "/" in word
            if is_path and "://" not in word and kind.search(without_references(word)):
                found.append(word)
        in_shell = in_shell or is_shell(text)
    return found

"""The files that an entry names: found wherever it names them, and read once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpclient.config import named_files as module
from mcpclient.config.named_files import NamedFile, NamedFiles, named_files, uncompared
from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import Entry, EntryError, read_entry
from mcpclient.entries.variables import Inputs, Variables
from tests.config.test_sheet import URL, sheet
from tests.support.tables import each_row

COMMAND = {"command": "npx", "args": ["-y", "a package"]}


def entry_of(raw: dict[str, Any]) -> Entry:
    return read_entry("s", raw, APPLICATIONS["mcpclient"], lambda *args, **more: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("server.py", "hook.js", ".env", "token", "run", "a b.sh"):
        (tmp_path / name).write_text(name)
    (tmp_path / "options.env").write_text("NODE_OPTIONS='-r ./hook.js'")
    (tmp_path / "sub").mkdir()
    for name in ("inner.py", "module.py", "Foo.pm"):
        (tmp_path / "sub" / name).write_text(name)
    return tmp_path


def found_in(raw: dict[str, Any], folder: Path) -> list[NamedFile]:
    entry = entry_of(raw)
    files = NamedFiles()
    folders = {"workspaceFolder": str(folder), "fileDirname": str(folder), "userHome": str(folder)}
    read = lambda path: files.read(path).decode()  # noqa: E731
    variables = Variables({"D": str(folder)}, Inputs(None, None), folders, read)
    found: Iterator[NamedFile] = named_files(entry, raw, variables, str(folder), str(folder), files)
    return list(found)


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ({"command": "python", "args": ["server.py"]}, ["server.py"]),
        ({"command": "./run", "args": ["--x=./hook.js"]}, ["run", "hook.js"]),
        ({"command": "${D}/run"}, ["run"]),
        ({"command": "~/run"}, ["run"]),
        ({"command": "sh", "args": ["-c", "cd .; python 'server.py'&&x"]}, ["server.py"]),
        ({**COMMAND, "env": {"NODE_OPTIONS": "--require ./hook.js"}}, ["hook.js"]),
        ({**COMMAND, "envFile": "${workspaceFolder}/.env"}, [".env"]),
        ({**URL, "headers": {"A": "{file:token}", "B": "${file:~/token}"}}, ["token", "token"]),
        ({**URL, "headersHelper": "./run --json"}, ["run"]),
        ({"command": "java", "args": ["-cp", f"run{os.pathsep}hook.js"]}, ["run", "hook.js"]),
        ({"command": "ruby", "args": ["-r./hook.js", "@run"]}, ["hook.js", "run"]),
        ({"command": "node", "args": ["${UNSET}./hook.js"]}, ["hook.js"]),
        ({"command": "sh", "args": ["-c", "node ${UNSET}./hook.js"]}, ["hook.js"]),
        ({"command": "sh", "args": ["-c", "node ${UNSET:-./hook.js}"]}, ["hook.js"]),
        ({**COMMAND, "env": {"NODE_OPTIONS": "--require ${D}/hook.js"}}, ["hook.js"]),
        ({"command": "sh", "args": ["-c", "`./run`; $(./hook.js)"]}, ["run", "hook.js"]),
        ({"command": "sh", "args": ["-c", "$PWD/run ${PWD}/hook.js"]}, ["run", "hook.js"]),
        ({"command": "sh", "args": ["-c", "$X/run"], "env": {"X": "."}}, ["run"]),
        ({"command": "node", "args": ["[./run]", "-vr./hook.js"]}, ["run", "hook.js"]),
        ({"command": "node", "args": ["--import", "./hook.js?y"]}, ["hook.js"]),
        ({"command": "node", "args": ["./hook"]}, ["hook.js"]),
        ({"command": "sh", "args": ["-c", "'./a b.sh'"]}, ["a b.sh"]),
        ({"command": "perl", "args": ["-Isub", "-MFoo", "-e1"]}, ["Foo.pm"]),
        ({"command": "python", "args": ["-mserver"]}, ["server.py"]),
        ({"command": "python", "args": ["-m", "sub.module"]}, ["module.py"]),
        ({"command": "uv", "args": ["--directory", "sub", "run", "inner.py"]}, ["run", "inner.py"]),
        ({"command": "sh", "args": ["-c", "cd sub && ./inner.py"]}, ["inner.py"]),
        ({**COMMAND, "envFile": "options.env"}, ["options.env", "hook.js"]),
        (COMMAND, []),
    ],
)
def test_the_files_that_an_entry_names(raw: dict[str, Any], names: list[str], folder: Path) -> None:
    """F-SAFE-2: their contents count, each wherever it is named."""
    files = found_in(raw, folder)
    assert [os.path.basename(each.path) for each in files] == names
    before = [each.digest for each in files]
    for file in files:
        Path(file.path).write_text("NODE_OPTIONS='-r ./hook.js' # changed")
    assert all(one != other.digest for one, other in zip(before, found_in(raw, folder)))


def test_a_file_that_cannot_be_read_or_is_too_large(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-2: the one that is not there counts as such; a large one by its size and time."""
    (missing,) = found_in({**COMMAND, "envFile": "gone"}, folder)
    assert missing.digest == ""
    assert NamedFiles().digest("no\0path") == ""
    monkeypatch.setattr("mcpclient.config.named_files._MAX_READ_SIZE", 3)
    (large,) = found_in({"command": "./run"}, folder)
    (folder / "run").write_text("larger than before")
    (changed,) = found_in({"command": "./run"}, folder)
    assert len(large.digest) == 64
    assert changed.digest != large.digest


def test_a_file_is_read_once() -> None:
    """F-SAFE-2: the file that was judged is used."""
    files = NamedFiles()
    path = Path(os.devnull)
    for _ in range(2):
        with pytest.raises(OSError, match="regular"):
            files.read(str(path))


def test_a_file_with_many_names_is_read_once_and_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-2: a repository does not fill the memory before the user is asked."""
    read: list[str] = []

    def reading(path: str, *, limit: int) -> bytes:
        read.append(path)
        return b"x"

    monkeypatch.setattr(module, "read_file", reading)
    words = [f"{'./' * number}run" for number in range(1, 50)]
    assert len(found_in({"command": "sh", "args": words}, folder)) == 1
    assert len(read) == 1


def test_files_that_are_too_large_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SAFE-2"""
    monkeypatch.setattr(module, "_MAX_READ_IN_ALL", 10)
    assert len(found_in({"command": "./run"}, folder)) == 1
    with pytest.raises(EntryError, match="larger than 10 bytes together"):
        found_in({"command": "./run", "args": ["hook.js", "server.py"]}, folder)


@each_row(
    ("raw", "words"),
    [
        ({"command": "sh", "args": ["-c", "./x?y; ./[ab] *.sh"]}, ["./x?y;", "./[ab]", "*.sh"]),
        (
            {"command": "sh", "args": ["-c", "`x` $(y) $D/run ./$E"]},
            ["`x`", "$(y)", "$D/run", "./$E"],
        ),
        ({"command": "sh", "args": ["-c", "./ho\\ok.js ./a'b'"]}, ["./ho\\ok.js", "./a'b'"]),
        (
            {"command": "sh", "args": ["-c", "./x.{sh,js} ${PWD%/}/x ~+/x f() { x; }; x ${A:-b}"]},
            ["./x.{sh,js}", "${PWD%/}/x", "~+/x"],
        ),
        ({"command": "java", "args": ["-cp", "lib/*", "a*b"]}, ["lib/*"]),
        ({**URL, "headersHelper": "x ./y*"}, ["./y*"]),
        ({"command": "sh", "args": ["-c", 'exec ./run "$@" && [ -f x ] || echo $?']}, []),
        ({"command": "npx", "args": ["mcp-remote", "https://x/mcp?a=b", "${HOME}/x"]}, []),
    ],
)
def test_words_whose_files_are_not_compared_are_named(
    raw: dict[str, Any], words: list[str]
) -> None:
    """F-SAFE-10: by a pattern, or a name that is made while a shell runs."""
    assert uncompared(entry_of(raw)) == words
    rows = dict(sheet(raw).rows)
    assert ("not compared" in rows) is bool(words)

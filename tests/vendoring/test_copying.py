"""Copies of the package: closed under imports, reproducible, verified, and made anew."""

from __future__ import annotations

import json
import marshal
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import pytest

import mcpclient
from mcpclient.errors import UsageError
from mcpclient.vendoring.copying import (
    changes_since,
    chosen_parts,
    copy_package,
    part_sizes,
    parts_of_copy,
)
from mcpclient.vendoring.manifest import MANIFEST, PARTS_LIST, read_manifest, verify
from mcpclient.vendoring.parts import PARTS
from tests.support.tables import check_each
from tests.tools.imports import all_imports, read_sources

PACKAGE = Path(mcpclient.__file__).parent
DEMO = PACKAGE.parent / "mcpclient" / "testing" / "demo_server.py"


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the copies in ``folder`` and no other package."""
    return subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}"]
        if not arguments
        else [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
    )


SETS = [*((name,) for name in PARTS if name != "stdio"), (), ("http", "sync")]


@pytest.mark.slow
def test_a_copy_is_closed_under_imports(tmp_path: Path) -> None:
    """F-VEND-1: what a part needs at once is there; what it may need later is there or is named."""
    whole = read_sources(PACKAGE)
    imported: dict[str, set[str]] = {}
    for found in all_imports(whole):
        if found.internal:
            imported.setdefault(found.importer, set()).add(found.target)

    def check(parts: tuple[str, ...]) -> None:
        copy = tmp_path / "_".join(("copy", *parts))
        copied = copy_package(copy, parts)
        assert {"stdio", *parts} <= set(copied.parts)
        sources = read_sources(copy)
        own = [module for module, source in sources.items() if source == whole.get(module)]
        others = {source.partition("\n")[0] for name, source in sources.items() if name not in own}
        assert others <= {'"""Left out of this copy."""'}
        assert copied.lines == sum(len(sources[module].splitlines()) for module in own)
        needed = set().union(*(imported.get(module, ()) for module in own))
        assert needed <= sources.keys()
        assert verify(copy).is_intact
        shutil.rmtree(copy)

    check_each(SETS, check)


def test_the_smallest_copies_are_small(tmp_path: Path) -> None:
    """F-VEND-2"""
    assert copy_package(tmp_path / "one", ()).lines <= 12_500
    assert copy_package(tmp_path / "two", ("http",)).lines <= 18_500


def test_a_copy_of_the_command_line_calls_a_tool(tmp_path: Path) -> None:
    """F-VEND-2: what a command imports on its first use is in the copy."""
    copy_package(tmp_path / "acme" / "mcp", ("cli",))
    done = run(tmp_path, "", "-m", "acme.mcp", "call", str(DEMO), "echo", "message=hi")
    assert (done.stdout, done.stderr) == ("hi\n", "")


LEFT_OUT = {
    'client.connect("https://example.com/mcp")': "http",
    'client.connect("wss://example.com/mcp")': "websocket",
    'client.connect("x.mcpb")': "bundles",
    'client.connect({"command": "x"})': "entries",
    "client.OAuth()": "auth",
    "client.connect_all({})": "manager",
    "client.Sandbox()": "sandbox",
    'client.connect(["x"]).toolbox("anthropic")': "models",
    'client.Recording("x")': "recording",
    'client.connect(["x"], elicitation=print)': "answers",
    "client.sync": "sync",
    "import small.sync": "sync",
    "from small.testing import cassette": "testing",
    "client.inspect": "inspector",
    "client.ask_unless_read_only": "hooks",
}


def test_a_part_that_was_left_out_says_so(tmp_path: Path) -> None:
    """F-VEND-2"""
    copy_package(tmp_path / "small", ())
    program = f"""
import small as client
from small.errors import UsageError
for use in {[*LEFT_OUT]}:
    try:
        exec(use)
    except UsageError as error:
        print(use, error, sep=": ")
"""
    assert run(tmp_path, program).stdout.splitlines() == [
        f"{use}: this copy was made without {part}; make it again with --with {part}"
        for use, part in LEFT_OUT.items()
    ]


def test_a_copy_without_a_command_line_still_verifies(tmp_path: Path) -> None:
    """F-VEND-1, F-VEND-2"""
    copy_package(tmp_path / "acme" / "mcp", ())
    done = run(tmp_path, "", "-m", "acme.mcp", "verify")
    assert re.fullmatch(r"\d+ files match the manifest\n", done.stdout), done.stderr
    (tmp_path / "acme" / "mcp" / "client" / "client.py").write_text("changed = True\n")
    (tmp_path / "acme" / "mcp" / "extra.py").write_text("")
    (tmp_path / "acme" / "mcp" / "LICENSE").unlink()
    done = run(tmp_path, "", "-m", "acme.mcp", "verify")
    assert (done.returncode, done.stdout) == (
        1,
        "changed: 'client/client.py'\nmissing: 'LICENSE'\nadded: 'extra.py'\n",
    )
    done = run(tmp_path, "", "-m", "acme.mcp", "tools", "x")
    assert (done.returncode, done.stderr) == (
        2,
        "error: this copy was made without cli; make it again with --with cli\n",
    )


def test_the_same_parts_make_the_same_bytes(tmp_path: Path) -> None:
    """F-VEND-1"""
    for name in ("first", "second"):
        copy_package(tmp_path / name / "copy", ("http",))
    first = read_manifest(tmp_path / "first" / "copy")
    assert first == read_manifest(tmp_path / "second" / "copy")
    text = (tmp_path / "first" / "copy" / MANIFEST).read_text()
    assert all(re.fullmatch(r"[0-9a-f]{64}  \S+", line) for line in text.splitlines())
    listed = json.loads((tmp_path / "first" / "copy" / PARTS_LIST).read_text())
    assert listed["bomFormat"] == "CycloneDX"
    assert {each["name"] for each in listed["components"]} == first.keys() - {PARTS_LIST}
    assert parts_of_copy(tmp_path / "first" / "copy") == (mcpclient.__version__, ("stdio", "http"))


@pytest.mark.slow
def test_a_copy_makes_copies_of_itself(tmp_path: Path) -> None:
    """F-VEND-1: also where it lies in an archive."""
    copy_package(tmp_path / "whole", tuple(PARTS))
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        for path in (tmp_path / "whole").rglob("*"):
            archive.write(path, path.relative_to(tmp_path))
    for place, made in ((tmp_path, "from_folder"), (tmp_path / "whole.zip", "from_archive")):
        program = f"""
import sys
sys.path.insert(0, {str(place)!r})
from whole.vendoring.copying import copy_package
copy_package({str(tmp_path / made)!r}, ())
"""
        done = run(tmp_path, "", "-I", "-c", program)
        assert done.returncode == 0, done.stderr
    assert (
        read_manifest(tmp_path / "from_folder").keys()
        == read_manifest(tmp_path / "from_archive").keys()
    )


def test_unknown_parts_and_names_are_refused(tmp_path: Path) -> None:
    """F-VEND-1"""
    with pytest.raises(UsageError, match="did you mean 'http'"):
        chosen_parts(["htpp"])
    assert chosen_parts(["sync", "http"]) == ("http", "sync")
    assert chosen_parts(None, ["cli"]) == tuple(name for name in PARTS if name != "cli")
    with pytest.raises(UsageError, match="'my-copy' cannot be imported"):
        copy_package(tmp_path / "my-copy")
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match="is not a vendored copy"):
        copy_package(tmp_path / "other", update=True)
    with pytest.raises(UsageError, match="does not say of which parts"):
        parts_of_copy(tmp_path / "other")


@pytest.mark.slow
def test_the_sizes_of_the_parts_are_told() -> None:
    """F-VEND-1, F-VEND-3: in the guide as well, within 5 %, or 50 lines."""
    sizes = part_sizes()
    assert list(sizes) == list(PARTS)
    assert all(size > 0 for size in sizes.values())
    chapter = (PACKAGE / "cli" / "guide" / "vendoring.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| `(\w+)` \| ([\d,]+) \|", chapter)
    told = {name: int(lines.replace(",", "")) for name, lines in rows}
    assert told == pytest.approx(sizes, rel=0.05, abs=50)


def test_a_copy_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-VEND-1: also when the new one cannot take its place any more."""
    copy_package(tmp_path / "copy", ())
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if source.name == "new":
            raise OSError("it is open elsewhere")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="open elsewhere"):
        copy_package(tmp_path / "copy", (), update=True)
    assert verify(tmp_path / "copy").is_intact


def test_the_changelog_is_told_from_the_version_before() -> None:
    """F-VEND-1: the changes that have no version yet are among them."""
    headings = [line for line in changes_since(mcpclient.__version__) if line.startswith("## ")]
    assert headings in ([], ["## [Unreleased]"])
    assert "## [1.0.0] - 2026-11-24" in changes_since("0.0.1")


def poisoned(source: Path, code: str) -> Path:
    """Have Python find bytecode of other code for a source, fresh by time and size."""
    cached = Path(cache_from_source(source))
    cached.parent.mkdir(exist_ok=True)
    status = source.stat()
    head = [0, int(status.st_mtime), status.st_size]
    content = b"".join(number.to_bytes(4, "little") for number in head)
    made = marshal.dumps(compile(code, str(source), "exec"))
    cached.write_bytes(MAGIC_NUMBER + content + made)
    return cached


def test_bytecode_is_compared_with_its_source_and_not_run(tmp_path: Path) -> None:
    """F-VEND-1: nor does anything else in a cache pass for Python's own."""
    copy_package(tmp_path / "acme" / "mcp", ())
    copy = tmp_path / "acme" / "mcp"
    run(tmp_path, "import acme.mcp.errors")
    assert list(copy.rglob("*.pyc"))
    assert verify(copy).is_intact
    hostile = [
        poisoned(copy / "vendoring" / "manifest.py", "print('evil'); main = lambda: 0"),
        poisoned(copy / "errors" / "__init__.py", "print('evil')"),
        copy / "__pycache__" / "payload.so",
        copy / "__pycache__" / "version.cpython-27.pyc",
    ]
    for path in hostile[2:]:
        path.write_bytes(b"x")
    (copy / "net" / "__pycache__").mkdir(exist_ok=True)
    hostile.append(copy / "net" / "__pycache__" / Path(cache_from_source("files.py")).name)
    hostile[-1].unlink(missing_ok=True)
    hostile[-1].symlink_to(tmp_path)
    added = sorted(path.relative_to(copy).as_posix() for path in hostile)
    assert verify(copy).added == tuple(added)
    for line in (["-m", "acme.mcp", "verify"], ["-I", str(copy / "vendoring" / "manifest.py")]):
        done = run(tmp_path, "", *line)
        assert done.returncode == 1
        assert done.stdout.splitlines()[:-1] == [f"added: {name!a}" for name in added]
    with pytest.raises(UsageError, match="is there already"):
        copy_package(copy, ())
    copy_package(copy, (), update=True)
    assert not list(copy.rglob("__pycache__"))


def test_a_folder_that_is_not_a_copy_is_told(tmp_path: Path) -> None:
    """F-VEND-1"""
    with pytest.raises(ValueError, match="is not a vendored copy"):
        verify(tmp_path)
    copy_package(tmp_path / "copy", ())
    (tmp_path / "copy" / MANIFEST).write_bytes(b"\xff")
    with pytest.raises(ValueError, match="cannot be read"):
        read_manifest(tmp_path / "copy")

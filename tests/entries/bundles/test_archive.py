"""Archives of bundles: what is refused before anything is written. F-MANY-18."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpclient.entries.bundles.archive import Archive, Bundle, read_archive
from mcpclient.entries.entry import EntryError
from tests.entries.bundles.making import (
    DEVICE,
    FILE,
    FOLDER,
    LINK,
    PROGRAM,
    Entry,
    manifest,
    packed,
    write_bundle,
    zipped,
)
from tests.support.tables import check_each

MANIFEST = Entry("manifest.json", b"{}")
ZEROS = bytes(64 * 1024 * 1024)
ZIP64 = b"PK\6\7" + bytes(16)


def named(*names: str | bytes, mode: int = FILE) -> bytes:
    return zipped([MANIFEST, *(Entry(name, b"x", mode=mode) for name in names)])


def hostile() -> dict[str, tuple[bytes, str]]:
    """Return archives by their faults."""
    return {
        "goes up": (named("../evil"), "leads elsewhere"),
        "goes up behind backslashes": (named("..\\..\\evil"), "backslash"),
        "absolute": (named("/etc/cron.d/evil"), "absolute path"),
        "on a drive": (named("C:/evil"), "colon"),
        "an empty part": (named("a//b"), "leads elsewhere"),
        "a dot": (named("./a"), "leads elsewhere"),
        "a NUL": (named("a\0.txt"), "invisible"),
        "the end of a line": (named("a\nb"), "invisible"),
        "an escape sequence": (named("a\x1b[2J"), "invisible"),
        "a change of direction": (named("a\u202egpj.exe"), "invisible"),
        "a character without a width": (named("a\u200bb"), "invisible"),
        "no UTF-8": (zipped([MANIFEST, Entry(b"\xff\xfe", flags=0x800)]), "damaged"),
        "a device": (named("sub/CON"), "on Windows"),
        "a device with a raised number": (named("COM¹.log"), "on Windows"),
        "a dot at the end": (named("server/x."), "on Windows"),
        "a space at the end": (named("server /x"), "on Windows"),
        "a long part": (named("x" * 256), "too long"),
        "a long path": (named("/".join(["x" * 100] * 11)), "too long"),
        "a name twice": (named("a", "a"), "has the name of 'a'"),
        "a manifest twice": (zipped([MANIFEST, MANIFEST]), "has the name of 'manifest.json'"),
        "another case": (named("a.txt", "A.TXT"), "has the name of 'a.txt'"),
        "a folder in another case": (named("dir/a", "DIR/b"), "has the name of 'dir'"),
        "another sharp s": (named("stra\u00dfe", "STRASSE"), "has the name of"),
        "a file and a folder": (named("a", "a/b"), "has the name of 'a'"),
        "a link": (named("link", mode=LINK), "a link or a special file"),
        "a device file": (named("null", mode=DEVICE), "a link or a special file"),
        "a folder that is a file": (named("dir", mode=FOLDER), "a link or a special file"),
        "a link that is a folder": (named("dir/", mode=LINK), "a link or a special file"),
        "a folder with content": (named("dir/", mode=FOLDER), "a folder with content"),
        "encrypted": (zipped([Entry("manifest.json", b"{}", flags=1)]), "encrypted"),
        "with a hidden directory": (zipped([Entry("x", b"x", flags=0x2000)]), "encrypted"),
        "another method": (zipped([Entry("x", b"x", method=12)]), "by a method"),
        "a bomb": (zipped([MANIFEST, Entry("x", ZEROS)]), "times its size"),
        "a bomb of 4 GiB": (
            zipped([Entry("x", b"x", size=0xFFFFFFFE)]),
            "more than 1073741824 bytes",
        ),
        "stored in two sizes": (zipped([Entry("x", b"xx", method=0, size=9)]), "two sizes"),
        "overlapping": (zipped([Entry("a", ZEROS), Entry("b", b"", offset=0)]), "overlaps"),
        "behind something": (zipped([MANIFEST], prefix=b"GIF89a"), "overlaps"),
        "a gap": (zipped([MANIFEST], before_directory=b"hidden"), "before its directory"),
        "another name inside": (zipped([Entry("a", local_name=b"b")]), "in two ways"),
        "another method inside": (zipped([Entry("a", local_method=0)]), "in two ways"),
        "something after the end": (zipped([MANIFEST], suffix=b"more"), "after its end"),
        "two ends": (zipped([MANIFEST]) + zipped([MANIFEST]), "in the right place"),
        "something before the end": (zipped([MANIFEST], before_end=b"more"), "in the right place"),
        "a second directory": (zipped([MANIFEST], directory_size=0), "in the right place"),
        "many files": (zipped([MANIFEST], count=60_000), "more than 50000 files"),
        "a large directory": (zipped([MANIFEST], directory_size=1 << 25), "more than 50000 files"),
        "Zip64": (zipped([MANIFEST], before_end=ZIP64), "Zip64"),
        "many disks": (zipped([MANIFEST], disk=1), "several parts"),
        "a cut one": (zipped([MANIFEST])[:-30], "not a zip archive"),
        "a signature alone": (b"MCPB_SIG_V1MCPB_SIG_END", "not a zip archive"),
    }


def test_a_hostile_archive_is_refused() -> None:
    """F-MANY-18: with the reason, and before anything is written."""
    made = hostile()

    def check(name: str) -> None:
        content, reason = made[name]
        with pytest.raises(EntryError) as caught:
            Archive(content)
        assert reason in str(caught.value)
        assert str(caught.value).isprintable()
        assert caught.value.path == ("bundle",)

    check_each(made, check)


def test_folders_count_as_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-18: also those that only names of files have in them."""
    monkeypatch.setattr("mcpclient.entries.bundles.archive._MAX_FILES", 50)
    with pytest.raises(EntryError, match="has more than 50 files"):
        Archive(named("/".join("x" * 120)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zipped([Entry("other.json", b"{}")]), "has no manifest.json at its top"),
        (zipped([Entry("sub/manifest.json", b"{}")]), "has no manifest.json at its top"),
        (zipped([Entry("manifest.json", b" " * 2_000_000)]), "larger than 1048576 bytes"),
        (zipped([Entry("manifest.json", b"{}", crc=1)]), "damaged"),
    ],
)
def test_a_manifest_that_cannot_be_read(content: bytes, reason: str) -> None:
    """F-MANY-18"""
    with pytest.raises(EntryError, match=reason):
        Archive(content).manifest()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def bundle_at(path: str, program: str = "", *, writable: bool = False) -> Bundle:
    return Bundle(path, read_archive(path).sha256, program, writable)


def modes_in(folder: str) -> dict[str, int]:
    return {
        os.path.relpath(os.path.join(place, name), folder): stat.S_IMODE(
            os.stat(os.path.join(place, name)).st_mode
        )
        for place, folders, files in os.walk(folder)
        for name in [*folders, *files]
    }


@pytest.mark.needs_posix
def test_it_is_unpacked_once_and_read_only(state: Path) -> None:
    """F-MANY-18: into a folder named by its digest; programs stay programs."""
    extra = [Entry("bin/run", b"#!", mode=PROGRAM), Entry("bin/other", b"#!", mode=0)]
    bundle = bundle_at(write_bundle(state / "x.mcpb", None, *extra), "bin/other")
    bundle.unpack()
    assert Path(bundle.folder).name == bundle.sha256
    assert modes_in(bundle.folder) == {
        "manifest.json": 0o444,
        "server": 0o555,
        "server/main.py": 0o444,
        "bin": 0o555,
        "bin/run": 0o555,
        "bin/other": 0o555,
    }
    assert stat.S_IMODE(os.stat(bundle.folder).st_mode) == 0o555
    assert stat.S_IMODE(os.stat(Path(bundle.folder).parent).st_mode) == 0o700
    before = os.stat(bundle.folder).st_mtime_ns
    bundle.unpack()
    assert os.stat(bundle.folder).st_mtime_ns == before


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def link(path: Path) -> None:
    path.rename(path.parent.parent.parent / "elsewhere.py")
    path.symlink_to(path.parent.parent.parent / "elsewhere.py")


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"#"), "server/main.py"),
    "shorter": (cut, "server/main.py"),
    "another": (lambda path: path.write_bytes(b"#" * path.stat().st_size), "server/main.py"),
    "gone": (Path.unlink, "server/main.py"),
    "a link": (link, "server/main.py"),
    "one more": (lambda path: path.with_name("json.py").touch(), "server/json.py"),
    "a folder more": (lambda path: path.with_name("json").symlink_to("/tmp"), "server/json"),
}


@pytest.mark.needs_posix
@pytest.mark.parametrize("kind", CHANGES)
def test_a_bundle_that_was_changed_after_it_was_unpacked_does_not_start(
    kind: str, state: Path
) -> None:
    """F-MANY-18: what was judged is what runs, at each start."""
    change, told = CHANGES[kind]
    bundle = bundle_at(write_bundle(state / "x.mcpb"))
    bundle.unpack()
    path = Path(bundle.folder, "server", "main.py")
    path.parent.chmod(0o700)
    path.chmod(0o600)
    change(path)
    with pytest.raises(EntryError, match=f"'{told}' is not as it was unpacked into"):
        bundle.unpack()
    bundle.remove_unpacked()
    bundle.unpack()


@pytest.mark.needs_posix
def test_bytecode_in_an_unpacked_bundle_is_not_kept(state: Path) -> None:
    """F-MANY-18: root's Python writes it, and it cannot be compared."""
    bundle = bundle_at(write_bundle(state / "x.mcpb"))
    bundle.unpack()
    cache = Path(bundle.folder, "server", "__pycache__")
    cache.parent.chmod(0o700)
    cache.mkdir()
    (cache / "main.cpython-311.pyc").touch()
    bundle.unpack()
    assert not cache.exists()


@pytest.mark.needs_posix
def test_a_runtime_may_install_beside_the_files(state: Path) -> None:
    """F-MANY-18: uv writes its environment there."""
    bundle = bundle_at(write_bundle(state / "x.mcpb"), writable=True)
    bundle.unpack()
    assert stat.S_IMODE(os.stat(bundle.folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(Path(bundle.folder, "manifest.json")).st_mode) == 0o444
    Path(bundle.folder, ".venv").mkdir()
    Path(bundle.folder, ".venv", "new").touch()
    bundle.unpack()


def test_a_bundle_that_changed_meanwhile_is_not_unpacked(state: Path) -> None:
    """F-MANY-18: what was judged is what runs."""
    bundle = bundle_at(write_bundle(state / "x.mcpb"))
    write_bundle(state / "x.mcpb", manifest(name="another"))
    with pytest.raises(EntryError, match="has changed since it was read"):
        bundle.unpack()
    assert not os.path.exists(bundle.folder)


def test_damaged_content_leaves_nothing(state: Path) -> None:
    """F-MANY-18: also where only unpacking shows it."""
    path = write_bundle(state / "x.mcpb", None, Entry("late", b"x" * 100, crc=7))
    bundle = bundle_at(path)
    with pytest.raises(EntryError, match="damaged"):
        bundle.unpack()
    assert os.listdir(state / "state" / "mcpclient" / "bundles") == []


def test_what_a_killed_process_left_is_removed(state: Path) -> None:
    folder = state / "state" / "mcpclient" / "bundles"
    for name, age in ((".old.unfinished", 7200.0), (".new.unfinished", 0.0)):
        (folder / name).mkdir(parents=True)
        time = (folder / name).stat().st_mtime - age
        os.utime(folder / name, (time, time))
    bundle = bundle_at(write_bundle(state / "x.mcpb"))
    bundle.unpack()
    assert sorted(os.listdir(folder)) == sorted([".new.unfinished", bundle.sha256])


@pytest.mark.skipif(sys.platform == "win32" or os.name != "posix", reason="needs modes")
def test_a_folder_that_cannot_be_written(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bundle_at(write_bundle(state / "x.mcpb"))

    def full(*unused: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.rename", full)
    with pytest.raises(EntryError, match="cannot be unpacked: No space left on device"):
        bundle.unpack()


def test_what_the_tests_make_is_what_python_reads(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(packed(manifest(), Entry("\u00fc", b"1", mode=PROGRAM)))
    with zipfile.ZipFile(path) as found:
        assert found.testzip() is None
        assert found.namelist() == ["manifest.json", "server/main.py", "\u00fc"]

"""The archive of a bundle: checked as a whole before any of it is written, and unpacked once.

Zip is read here in one way only: what two programs could read differently is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...errors import built_without, safe_repr
from ...net.clocks import seconds_since_epoch
from ...net.files import make_private_folder
from ...net.regular_files import open_regular, read_file
from ...net.user_folders import bundle_folder
from ..entry import EntryError

try:
    import zlib
except ImportError:
    raise built_without("zlib", "a bundle") from None

if TYPE_CHECKING:
    import zipfile

MANIFEST = "manifest.json"

_MIB = 1024 * 1024
_MAX_SIZE, _MAX_UNPACKED, _MAX_MANIFEST = 256 * _MIB, 1024 * _MIB, _MIB
_MAX_FILES, _MAX_DIRECTORY = 50_000, 16 * _MIB
# A bundle that unpacks to more than 16 MiB, and to so many times its size, is a bomb.
_MAX_RATIO, _SMALL = 100, 16 * _MIB
_MAX_NAME, _MAX_PATH = 255, 1000  # bytes, as most file systems have it

_LOCAL, _END, _ZIP64 = b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x07"
_END_SIZE, _LOCAL_SIZE, _MAX_COMMENT = 22, 30, 65_535
# Around the signature that the official packer puts behind the archive.
_SIGNATURE, _SIGNATURE_END = b"MCPB_SIG_V1", b"MCPB_SIG_END"
_ENCRYPTED = 0x1 | 0x20 | 0x40 | 0x2000  # encryption of three kinds, and patches
_DESCRIBED, _UTF8 = 0x8, 0x800
_DESCRIPTORS = (12, 16, 20, 24)  # bytes behind a file whose size was not known before
_METHODS = (0, 8)  # stored, deflated

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_DEVICES = frozenset(
    {
        *("con", "prn", "aux", "nul", "conin$", "conout$"),
        *(f"{port}{number}" for port in ("com", "lpt") for number in "123456789¹²³"),
    }
)
_UNFINISHED_SECONDS = 3600.0


def _wrong(message: str, name: str = "") -> EntryError:
    about = f"{safe_repr(name)} in it " if name else "it "
    hint = "get the bundle again from its maker"
    return EntryError(f"the bundle is refused: {about}{message}", "bundle", hint=hint)


class Bundle(NamedTuple):
    """A bundle that an entry was made from.

    ``path``: its file. ``sha256``: the digest of that. ``program``: the file in it that is started,
    if it is one. ``writable``: the top folder stays writable, for a runtime that installs there.
    """

    path: str
    sha256: str
    program: str = ""
    writable: bool = False

    @property
    def folder(self) -> str:
        """The folder that it is unpacked into, read-only, and only once."""
        return str(bundle_folder(os.environ, self.sha256))

    def unpack(self) -> None:
        """Unpack the bundle, or compare it with the files that were unpacked before.

        Raises `EntryError` for one that has changed since it was read, or cannot be unpacked.
        """
        archive = read_archive(self.path)
        if archive.sha256 != self.sha256:
            raise EntryError("the bundle has changed since it was read", "bundle")
        if os.path.isdir(self.folder):
            changed = archive.difference(self.folder, may_grow=self.writable)
            if changed:
                message = f"{safe_repr(changed)} is not as it was unpacked into {self.folder}"
                hint = "delete that folder, and the bundle is unpacked again"
                raise EntryError(message, "bundle", hint=hint)
            return
        try:
            parent = Path(self.folder).parent
            make_private_folder(parent)
            _remove_unfinished(parent)
            unfinished = tempfile.mkdtemp(prefix=".", suffix=".unfinished", dir=parent)
            try:
                archive.write_to(unfinished, self.program)
                os.rename(unfinished, self.folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
            for folder, _, _ in os.walk(self.folder):
                is_top = folder == self.folder
                os.chmod(folder, 0o700 if is_top and self.writable else 0o555)
        except OSError as error:
            if not os.path.isdir(self.folder):  # else another process was faster
                reason = error.strerror or "unknown reason"
                raise EntryError(f"the bundle cannot be unpacked: {reason}", "bundle") from None

    def remove_unpacked(self) -> None:
        """Remove the folder that it was unpacked into; it is unpacked again when it is needed."""
        for folder, _, _ in os.walk(self.folder):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.folder, ignore_errors=True)


def _remove_unfinished(parent: Path) -> None:
    """Remove what processes have left that were killed."""
    for left in parent.glob(".*.unfinished"):
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < seconds_since_epoch() - _UNFINISHED_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


class Archive:
    """The checked archive of a bundle, and the ``names`` of its files. Raises `EntryError`."""

    def __init__(self, content: bytes) -> None:
        import zipfile

        self.sha256: str = hashlib.sha256(content).hexdigest()
        trimmed = _trimmed(content)
        with _reading():
            self._zip = zipfile.ZipFile(BytesIO(trimmed))
            self._files = _checked(self._zip, trimmed)
        size = sum(info.file_size for info in self._files.values())
        if size > max(_SMALL, _MAX_RATIO * len(content)):
            raise _wrong(f"unpacks to more than {_MAX_RATIO} times its size")
        self.names: frozenset[str] = frozenset(self._files)

    def manifest(self) -> bytes:
        """Return the content of its manifest."""
        if MANIFEST not in self._files:
            raise _wrong(f"has no {MANIFEST} at its top")
        if self._files[MANIFEST].file_size > _MAX_MANIFEST:
            raise _wrong(f"is larger than {_MAX_MANIFEST} bytes", MANIFEST)
        with _reading():
            return self._zip.read(self._files[MANIFEST])

    def difference(self, folder: str, *, may_grow: bool) -> str:
        """Return the name of a file of a folder that is not as in the archive; "" for none.

        What Python has compiled there, as it can for root, is removed: it cannot be compared.
        ``may_grow``: the program adds files of its own.
        """
        missing = set(self.names)
        may_change = ("uv.lock",) if may_grow else ()
        for place, folders, files in os.walk(folder):
            here = os.path.relpath(place, folder).replace(os.sep, "/")
            prefix = "" if here == "." else f"{here}/"
            cache = f"{prefix}__pycache__/"
            if not any(name.startswith(cache) for name in self.names):
                shutil.rmtree(os.path.join(folder, cache), ignore_errors=True)
            links = [each for each in folders if os.path.islink(os.path.join(place, each))]
            for name in (f"{prefix}{file}" for file in (*files, *links)):
                is_known = name in self.names
                is_same = is_known and self._holds(name, os.path.join(folder, name))
                if not (is_same or name in may_change or (may_grow and not is_known)):
                    return name
                missing.discard(name)
        return min(missing, default="")

    def _holds(self, name: str, path: str) -> bool:
        """Whether the file at a path is the one of this name."""
        flags = getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = open_regular(path, flags, limit=self._files[name].file_size)
        except OSError:
            return False
        info = self._files[name]
        with open(descriptor, "rb") as file, _reading(), self._zip.open(info) as packed:
            while True:
                expected = packed.read(_MIB)
                if file.read(len(expected) or 1) != expected:
                    return False
                if not expected:
                    return True

    def write_to(self, folder: str, program: str) -> None:
        """Write its files into an empty folder. ``program``: one that is to be executable."""
        for name, info in self._files.items():
            path = os.path.join(folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with _reading(), self._zip.open(info) as source, open(path, "xb") as target:
                shutil.copyfileobj(source, target, _MIB)
            is_program = name == program or (info.external_attr >> 16) & 0o111
            os.chmod(path, 0o555 if is_program else 0o444)


def read_archive(path: str) -> Archive:
    """Return the archive at a path. Raises `EntryError` where it cannot be read or is refused."""
    try:
        return Archive(read_file(path, limit=_MAX_SIZE))
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise EntryError(f"the bundle cannot be read: {reason}", "bundle") from None


@contextmanager
def _reading() -> Iterator[None]:
    import zipfile

    try:
        yield
    except EntryError:
        raise
    # All that the library for zip raises for damaged content.
    except (
        *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
        *(ValueError, EOFError, IndexError, OverflowError),
    ) as error:
        raise _wrong(f"is damaged: {safe_repr(str(error))}") from None


def _trimmed(content: bytes) -> bytes:
    """Return an archive up to its end record, after which there may only be a comment.

    The size of its directory is checked here, since the whole directory is read into memory.
    """
    if content.endswith(_SIGNATURE_END):
        content = content[: max(content.rfind(_SIGNATURE), 0)]
    at = content.rfind(_END, max(0, len(content) - _END_SIZE - _MAX_COMMENT))
    if at < 0 or len(content) - at < _END_SIZE:
        raise _wrong("is not a zip archive")
    disk, first, here, count, size, start, comment = struct.unpack(
        "<4x4H2LH", content[at : at + _END_SIZE]
    )
    if len(content) != at + _END_SIZE + comment:
        raise _wrong("goes on after its end")
    if disk or first or here != count:
        raise _wrong("is one of several parts")
    if content[max(at - 20, 0) : at].startswith(_ZIP64) or count == 0xFFFF:
        raise _wrong("is in the format Zip64")
    if count > _MAX_FILES or size > _MAX_DIRECTORY:
        raise _wrong(f"has more than {_MAX_FILES} files")
    if start + size != at:
        raise _wrong("does not have its directory in the right place")
    return content[: at + _END_SIZE - 2] + b"\0\0"


def _checked(archive: zipfile.ZipFile, content: bytes) -> dict[str, zipfile.ZipInfo]:
    files: dict[str, zipfile.ZipInfo] = {}
    seen: dict[str, tuple[str, bool]] = {}
    end = total = 0
    gaps = [0]
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        name = info.orig_filename  # the other one ends at the first NUL
        is_folder = name.endswith("/")
        _check_name(name[:-1] if is_folder else name, is_folder, seen)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
            raise _wrong("is a link or a special file", name)
        if info.flag_bits & _ENCRYPTED:
            raise _wrong("is encrypted", name)
        if info.compress_type not in _METHODS:
            raise _wrong("is compressed by a method that bundles do not have", name)
        if info.header_offset - end not in gaps:
            raise _wrong("overlaps another file, or stands behind something else", name)
        end = info.header_offset + _local_size(info, content) + info.compress_size
        gaps = [*_DESCRIPTORS] if info.flag_bits & _DESCRIBED else [0]
        total += info.file_size
        if info.compress_type == 0 and info.file_size != info.compress_size:
            raise _wrong("has two sizes", name)
        if total > _MAX_UNPACKED:
            raise _wrong(f"unpacks to more than {_MAX_UNPACKED} bytes")
        if not is_folder:
            files[name] = info
        elif info.file_size:
            raise _wrong("is a folder with content", name)
    if archive.start_dir - end not in gaps:
        raise _wrong("has something else before its directory")
    return files


def _local_size(info: zipfile.ZipInfo, content: bytes) -> int:
    """Return the size of the header in front of a file, which must agree with the directory."""
    encoded = info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437")
    begin = info.header_offset + _LOCAL_SIZE
    signature, flags, method, name, extra = struct.unpack(
        "<4s2x2H16x2H", content[info.header_offset : begin]
    )
    here = signature, flags, method, content[begin : begin + name]
    if here != (_LOCAL, info.flag_bits, info.compress_type, encoded):
        raise _wrong("is described in two ways", info.orig_filename)
    return int(_LOCAL_SIZE + name + extra)


def _check_name(name: str, is_folder: bool, seen: dict[str, tuple[str, bool]]) -> None:
    """Raise `EntryError` for a name that some system takes for another place, or for another name.

    ``seen``: by what no file system tells apart, the files and folders so far, with their spelling.
    """
    parts = name.split("/")
    for part in parts:
        if part in ("", ".", ".."):
            raise _wrong("has an absolute path, or one that leads elsewhere", name)
        if any(each in "\\:" or unicodedata.category(each) in _INVISIBLE for each in part):
            raise _wrong("has a backslash, a colon or an invisible character in its name", name)
        if part[-1] in ". " or part.partition(".")[0].rstrip().casefold() in _DEVICES:
            raise _wrong("has a name that means something else on Windows", name)
    if len(name.encode()) > _MAX_PATH or max(len(part.encode()) for part in parts) > _MAX_NAME:
        raise _wrong("has too long a name", name)
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        spelled = path, is_folder or length < len(parts)
        plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        known = seen.setdefault(plain, spelled)
        if known != spelled or (length == len(parts) and not is_folder and known is not spelled):
            raise _wrong(f"has the name of {safe_repr(known[0])}", name)
        if known is not spelled:
            break  # the folders above it were seen with it
    if len(seen) > 2 * _MAX_FILES:
        raise _wrong(f"has more than {_MAX_FILES} files")

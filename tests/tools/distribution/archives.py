"""Archives whose bytes follow from their content alone: no clock, no owner, no order of a disk."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable

Files = Iterable[tuple[str, bytes]]

# The earliest time that a zip file can hold; one for all, since git keeps no times either.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_TAR_TIME = 315532800  # the same, in seconds since the epoch
_MODE = 0o644


def zip_of(files: Files) -> bytes:
    """Return a zip file of ``files``, in the order of their names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(files):
            entry = zipfile.ZipInfo(name, _ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # POSIX, also where it is made on Windows
            entry.external_attr = (0o100000 | _MODE) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def tar_gz_of(files: Files) -> bytes:
    """Return a gzipped tar file of ``files``, in the order of their names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), _TAR_TIME, _MODE
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)

"""The manifest of a vendored copy, and its verification."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

from ..errors import UsageError

MANIFEST = "MANIFEST.sha256"
PARTS_LIST = "parts.cdx.json"

_FOLDER = Path(__file__).parent.parent
_MAX_SIZE = 16 * 1024 * 1024


class Verification(NamedTuple):
    """The differences between a copy and its manifest, as paths below the folder of the package."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def is_intact(self) -> bool:
        """Whether nothing differs."""
        return not (self.changed or self.missing or self.added)


def verify(folder: Path = _FOLDER) -> Verification:
    """Compare this copy of the package with the manifest it was made with.

    Files that Python itself writes (``__pycache__``) do not count. The manifest is not signed:
    whoever can change the files can change it too, so keep its own digest elsewhere.

    Raises `UsageError` where there is no manifest: the package was not made by ``vendor``.
    """
    expected = read_manifest(folder)
    found = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if "__pycache__" not in path.relative_to(folder).parts
        and path.name != MANIFEST
        and (path.is_symlink() or not path.is_dir())  # Python imports from a linked folder, too
    }
    both = expected.keys() & found.keys()
    changed = {name for name in both if _digest(found[name]) != expected[name]}
    differences = (changed, expected.keys() - found.keys(), found.keys() - expected.keys())
    return Verification(*(tuple(sorted(names)) for names in differences))


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the digest of each file by its path. Raises `UsageError`."""
    try:
        if (folder / MANIFEST).exists() and not (folder / MANIFEST).is_file():
            raise ValueError("it is not a regular file")
        with open(folder / MANIFEST, encoding="utf-8") as file:
            lines = file.read(_MAX_SIZE).splitlines()
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {MANIFEST}: it is not a vendored copy") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / MANIFEST} cannot be read: {error}") from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    # A link is never what was copied, nor is a pipe, and opening one would block.
    is_copy = path.is_file() and not path.is_symlink()
    return "" if not is_copy else hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Print how this copy differs from its manifest; 0: it does not."""
    try:
        verification = verify()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for kind, names in verification._asdict().items():
        for name in names:
            print(f"{kind}: {name!a}"[:200])
    if verification.is_intact:
        print(f"{len(read_manifest(_FOLDER))} files match the manifest")
    return 0 if verification.is_intact else 1

"""The manifest of a vendored copy, and its verification.

It imports nothing of the package, and may be run as a program, ``python3 -I …/manifest.py``: Python
reads the source of a program, while it may run the bytecode in ``__pycache__`` for a module.
"""

from __future__ import annotations

import hashlib
import marshal
import re
import sys
from pathlib import Path
from typing import NamedTuple

MANIFEST = "MANIFEST.sha256"
PARTS_LIST = "parts.cdx.json"

_FOLDER = Path(__file__).resolve().parent.parent
_MAX_SIZE = 16 * 1024 * 1024
_CACHE = "__pycache__"
_COMPILED = re.compile(
    rf"(?P<module>\w+)\.{re.escape(str(sys.implementation.cache_tag))}(\.opt-(?P<level>[12]))?\.pyc"
)
_CODE_BEGINS = 16  # bytes of the head of a .pyc file


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

    Bytecode in ``__pycache__`` must match its source, compiled by this Python; bytecode of
    another one cannot be compared, and counts as added like any other file. The manifest is not
    signed: whoever can change the files can change it too, so keep its own digest elsewhere.

    Raises ValueError where there is no manifest: the package was not made by ``vendor``.
    """
    expected = read_manifest(folder)
    found = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.name != MANIFEST
        and (path.is_symlink() or not path.is_dir())  # Python imports from a linked folder, too
    }
    cached = {name for name in found if _CACHE in name.split("/")[:-1]}
    both = expected.keys() & found.keys()
    changed = {name for name in both if _digest(found[name]) != expected[name]}
    false = {name for name in cached if not _is_compiled(found[name])}
    added = found.keys() - expected.keys() - cached | false
    differences = (changed, expected.keys() - found.keys(), added)
    return Verification(*(tuple(sorted(names)) for names in differences))


def _is_compiled(path: Path) -> bool:
    """Whether a file in ``__pycache__`` is its source, compiled by this Python."""
    try:
        found = _COMPILED.fullmatch(path.name)
        if found is None or path.is_symlink() or path.parent.is_symlink():
            return False
        source = path.parent.parent / f"{found['module']}.py"
        level, text = int(found["level"] or 0), source.read_bytes()
        made = compile(text, str(source), "exec", dont_inherit=True, optimize=level)
        # Loading runs nothing, and code that is not equal is not used.
        return bool(marshal.loads(path.read_bytes()[_CODE_BEGINS:]) == made)
    except (OSError, ValueError, TypeError, EOFError, SyntaxError):
        return False


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the digest of each file by its path. Raises ValueError."""
    try:
        if (folder / MANIFEST).exists() and not (folder / MANIFEST).is_file():
            raise ValueError("it is not a regular file")
        with open(folder / MANIFEST, encoding="utf-8") as file:
            lines = file.read(_MAX_SIZE).splitlines()
    except FileNotFoundError:
        raise ValueError(f"{folder} has no {MANIFEST}: it is not a vendored copy") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder / MANIFEST} cannot be read: {error}") from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    # A link is never what was copied, nor is a pipe, and opening one would block.
    is_copy = path.is_file() and not path.is_symlink()
    return "" if not is_copy else hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Print how this copy differs from its manifest; 0: it does not."""
    try:
        verification = verify()
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for kind, names in verification._asdict().items():
        for name in names:
            print(f"{kind}: {name!a}"[:200])
    if any(_CACHE in name for name in verification.added):
        print(f"Delete the {_CACHE} folders: Python makes them again.")
    if verification.is_intact:
        print(f"{len(read_manifest(_FOLDER))} files match the manifest")
    return 0 if verification.is_intact else 1


if __name__ == "__main__":
    sys.exit(main())

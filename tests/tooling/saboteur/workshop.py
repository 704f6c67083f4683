"""A copy of the project in which one fault at a time is tried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .faults import Fault

__all__ = ["ROOT", "Workshop", "edited", "source_of"]

ROOT = Path(__file__).parents[3]

_PARTS = (
    *("mcpclient", "tests", "conformance", "pyproject.toml"),
    *("README.md", "CHANGELOG.md", "LICENSE", "Makefile"),
)
_SECONDS = 300
"""After this a run counts as failed: a fault may well leave somebody waiting."""


def source_of(fault: Fault, root: Path = ROOT) -> Path:
    """Return the file that a fault is in."""
    return root.joinpath("mcpclient", *fault.module.split(".")).with_suffix(".py")


def edited(fault: Fault, root: Path = ROOT) -> str:
    """Return the source with the fault in it. Raises ValueError when there is no place for it."""
    text = source_of(fault, root).read_text("utf-8")
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.old!r} stands {text.count(fault.old)} times in {fault.module}")
    return text.replace(fault.old, fault.new)


class Workshop:
    """The copy. ``unit`` and ``replay`` tell whether a fault that is in it was noticed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        ignored = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")
        for name in _PARTS:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=ignored)
            elif source.exists():
                shutil.copy(source, root / name)

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[Workshop]:
        """Make a copy that is gone afterwards."""
        with TemporaryDirectory() as folder:
            yield cls(Path(folder))

    @contextmanager
    def holding(self, fault: Fault) -> Iterator[None]:
        """Put a fault in, and take it out again."""
        path, faulty = source_of(fault, self._root), edited(fault, self._root)
        sound = path.read_text("utf-8")
        try:
            self._write(path, faulty)
            yield
        finally:
            self._write(path, sound)

    def unit(self, fault: Fault) -> str | None:
        """Run the tests near the fault, then those further away; return the first that failed."""
        for tests in self._nearest_first(fault):
            output = self._run("pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
            if output is not None:
                failed = [
                    line for line in output.splitlines() if line.startswith(("FAILED", "ERR"))
                ]
                return failed[0].partition(" - ")[0] if failed else "did not end"
        return None

    def replay(self, *names: str) -> str | None:
        """Replay the recorded sessions; return the first finding."""
        output = self._run("tests.tooling.saboteur.first_finding", *names)
        if output is None:
            return None
        found = [line for line in output.splitlines() if line.startswith("found in ")]
        return found[0][len("found in ") :] if found else f"failed: {output[-200:]}"

    def _nearest_first(self, fault: Fault) -> Iterator[Sequence[str]]:
        *folders, name = fault.module.split(".")
        own = Path("tests", *folders, f"test_{name}.py")
        if (self._root / own).exists():
            yield [str(own)]
        yield [str(Path("tests", *folders))]
        above = Path("tests", *folders[:1])
        if len(folders) > 1:
            yield [str(above)]
        yield ["tests", f"--ignore={above}", "--ignore=tests/tooling/saboteur"]

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        # A compiled file of the same second and the same size would be taken for this one.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def _run(self, module: str, *arguments: str) -> str | None:
        """Run a module in the copy; return what it printed if it failed, None if all was well."""
        command = [sys.executable, "-m", module, *arguments]
        environ = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(self._root)}
        try:
            done = subprocess.run(
                command,
                cwd=self._root,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.decode("utf-8", "replace") if done.returncode else None

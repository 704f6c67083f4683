"""A copy of the project in which one fault at a time is tried."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from ..mutants.edits import mutants_of, text_with
from .faults import VISIBLE, Fault

ROOT = Path(__file__).parents[3]

_PARTS = (
    *("mcpclient", "tests", "conformance", "pyproject.toml"),
    *("README.md", "CHANGELOG.md", "LICENSE", "Makefile"),
)
_SECONDS = 300
"""After this a run counts as failed: a fault may well leave a caller waiting."""

# Without the test that every fault has its place, which it has no more once it is put in.
_ALL = ("tests", "--ignore=tests/tools/test_saboteur.py")


def source_of(fault: Fault, root: Path = ROOT) -> Path:
    """Return the file that a fault is in."""
    return root.joinpath("mcpclient", *fault.module.split(".")).with_suffix(".py")


def edited(fault: Fault, root: Path = ROOT) -> str:
    """Return the source with the fault in it. Raises ValueError when there is no place for it."""
    text = source_of(fault, root).read_text("utf-8")
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.old!r} stands {text.count(fault.old)} times in {fault.module}")
    return text.replace(fault.old, fault.new)


# Functions of these modules of which no server sees anything: they describe calls and errors for
# the program, record, or are the server's half of HTTP.
_UNSEEN = {
    "auth.discovery": {"_Finder._no_metadata"},
    "client.answers.answerers": {"ElicitationAnswerer.notified", "form_problem"},
    "client.connection.call_recovery": {"CallDeadline.named", "CallDeadline.timeout"},
    "client.connection.connection": {"Connection._observed", "Connection.trace_to"},
    "client.requests": {"Requests._call_through"},
    "framing.http1": {"_not_http", "encode_response_head", "parse_request_head"},
    "net.exchange": {"Exchange._begin_record", "Exchange._end_record", "http_error"},
    "transports.connected": {"LineTransport.skipped"},
}


def fresh_faults(count: int, seed: int) -> list[Fault]:
    """Return random faults: other conditions and constants in the modules whose faults are seen."""
    chance = random.Random(seed)
    found = []
    for module in sorted({fault.module for fault in VISIBLE}):
        path = source_of(Fault(module, "", "", ""))
        for mutant in mutants_of(path, path.name, chance, decides=True):
            if mutant.function not in _UNSEEN.get(module, ()):
                found.append((module, path, mutant))
    return [
        Fault(module, f"{mutant}", path.read_text("utf-8"), text_with(path, mutant))
        for module, path, mutant in chance.sample(found, count)
    ]


class Copy:
    """The project in a folder of its own, where its modules are run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignored = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")
        for name in _PARTS:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=ignored)
            elif source.exists():
                shutil.copy(source, root / name)

    def run(self, module: str, *arguments: str, limit: float | None = _SECONDS) -> str | None:
        """Run a module; return its output if it failed, None if all was well."""
        command = [sys.executable, "-m", module, *arguments]
        environ = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(self.root)}
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.decode("utf-8", "replace") if done.returncode else None

    def tests(self, *arguments: str, limit: float | None = _SECONDS) -> str | None:
        """Run tests up to the first that fails."""
        return self.run("pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments, limit=limit)


class Sound:
    """A copy without any fault: what fails here proves nothing, and takes no longer with one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = Lock()
        self._red: dict[str, bool] = {}
        self._limit = 0.0

    def is_red(self, test: str) -> bool:
        """Whether a test fails without a fault as well."""
        with self._lock:
            if test not in self._red:
                self._red[test] = self._copy.tests(test) is not None
            return self._red[test]

    @cached_property
    def _copy(self) -> Copy:
        return Copy(self._root)

    @property
    def red(self) -> list[str]:
        """The tests that were found to."""
        return [test for test, is_red in self._red.items() if is_red]

    def limit(self) -> float:
        """Return the seconds after which a run of all tests has not ended: found out once."""
        with self._lock:
            if not self._limit:
                begun = time.monotonic()
                self._copy.run("pytest", "-q", "-p", "no:cacheprovider", *_ALL, limit=None)
                self._limit = _SECONDS + 2 * (time.monotonic() - begun)
            return self._limit


class Workshop:
    """A copy for faults. ``unit`` and ``replay`` tell whether a fault that is in it was noticed."""

    def __init__(self, root: Path, sound: Sound) -> None:
        self._copy = Copy(root)
        self._sound = sound

    @classmethod
    @contextmanager
    def opened(cls, sound: Sound | None = None) -> Iterator[Workshop]:
        """Make a copy that is gone afterwards, beside a sound one which others may share."""
        with TemporaryDirectory() as folder, TemporaryDirectory() as sound_folder:
            yield cls(Path(folder), sound or Sound(Path(sound_folder)))

    @contextmanager
    def holding(self, fault: Fault) -> Iterator[None]:
        """Put a fault in, and take it out again."""
        root = self._copy.root
        path, faulty = source_of(fault, root), edited(fault, root)
        sound = path.read_text("utf-8")
        try:
            self._write(path, faulty)
            yield
        finally:
            self._write(path, sound)

    def unit(self, fault: Fault) -> str | None:
        """Run the tests near the fault, then all others; return the first that notices it.

        A test that fails without the fault as well is left out.
        """
        for tests in self._nearest_first(fault):
            limit = self._sound.limit() if tests is _ALL else _SECONDS
            while True:
                left_out = [f"--deselect={test}" for test in self._sound.red]
                output = self._copy.tests(*tests, *left_out, limit=limit)
                if output is None:
                    break
                failed = [
                    line.split(" - ")[0].split(" ", 1)[1]
                    for line in output.splitlines()
                    if line.startswith(("FAILED ", "ERROR "))
                ]
                if not failed or not self._sound.is_red(failed[0]):
                    return failed[0] if failed else "did not end"
        return None

    def replay(self, *names: str) -> str | None:
        """Replay the recorded sessions; return the first finding."""
        output = self._copy.run("tests.tools.saboteur.first_finding", *names, limit=3 * _SECONDS)
        if output is None:
            return None
        found = [line for line in output.splitlines() if line.startswith("found in ")]
        return found[0][len("found in ") :] if found else f"failed: {output[-200:]}"

    def _nearest_first(self, fault: Fault) -> Iterator[Sequence[str]]:
        *folders, name = fault.module.split(".")
        near = [Path("tests", *folders, f"test_{name}.py"), Path("tests", *folders)]
        if len(folders) > 1:
            near.append(Path("tests", folders[0]))
        for path in near:
            if (self._copy.root / path).exists():
                yield [str(path)]
        # Those of the whole package: costs, imports, interrupts.
        yield sorted(
            str(path.relative_to(self._copy.root))
            for path in self._copy.root.glob("tests/test_*.py")
        )
        yield _ALL

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        # A compiled file of the same second and the same size would be taken for this one.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

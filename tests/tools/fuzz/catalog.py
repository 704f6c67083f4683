"""The targets and their seeds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

Target = Callable[[bytes], None]

CORPUS = Path(__file__).parent / "corpus"


def names() -> list[str]:
    """The names of all targets: the modules in ``targets/``."""
    folder = Path(__file__).parent / "targets"
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def load(name: str) -> Target:
    """The function of a target. Imports the code under test."""
    target: Target = import_module(f"{__package__}.targets.{name}").target
    return target


def seeds(name: str) -> dict[str, bytes]:
    """The committed inputs of a target by the names of their files."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / name).iterdir())}

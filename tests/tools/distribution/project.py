"""The project's description in ``pyproject.toml``, as the metadata of a distribution."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Union

TOP = Path(__file__).parent.parent.parent.parent

# What stands at the top of a source archive; of folders, everything but what tools leave behind.
SOURCES = (
    *("CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"),
    *(".ci", ".github", "conformance", "mcpclient", "tests"),
)
LEFT_BEHIND = re.compile(r"__pycache__|\.peers|\..*_cache|\.hypothesis|\.DS_Store|.*\.pyc|.*~")

Value = Union[str, list[str]]


@dataclass(frozen=True)
class Project:
    """The tables of ``pyproject.toml`` that a distribution is made of."""

    fields: dict[str, Value]
    urls: dict[str, Value]
    scripts: dict[str, Value]

    @property
    def name(self) -> str:
        return str(self.fields["name"])

    @property
    def version(self) -> str:
        return str(self.fields["version"])

    def metadata(self) -> str:
        """The core metadata of the distribution, version 2.4 (PEP 639), README included."""
        fields = self.fields
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.name}",
            f"Version: {self.version}",
            f"Summary: {fields['description']}",
            f"Keywords: {','.join(fields['keywords'])}",
            f"License-Expression: {fields['license']}",
            *(f"License-File: {name}" for name in fields["license-files"]),
            *(f"Project-URL: {label}, {url}" for label, url in self.urls.items()),
            *(f"Classifier: {name}" for name in fields["classifiers"]),
            f"Requires-Python: {fields['requires-python']}",
            *(f"Requires-Dist: {name}" for name in fields["dependencies"]),
            "Description-Content-Type: text/markdown",
        ]
        readme = (TOP / str(fields["readme"])).read_text("utf-8")
        return "\n".join([*lines, "", readme])

    def entry_points(self) -> str:
        """The commands that an installation makes."""
        scripts = [f"{name} = {target}" for name, target in self.scripts.items()]
        return "\n".join(["[console_scripts]", *scripts, ""])


def read_project() -> Project:
    """Read the project's own ``pyproject.toml``, on Pythons without ``tomllib`` as well."""
    text = (TOP / "pyproject.toml").read_text("utf-8")
    return Project(
        fields=_table(text, "project"),
        urls=_table(text, "project.urls"),
        scripts=_table(text, "project.scripts"),
    )


def _table(text: str, name: str) -> dict[str, Value]:
    """Return one table whose values are strings and lists of strings: Python writes them alike."""
    found = re.search(rf"^\[{re.escape(name)}\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(
        r"^([\w-]+) = (.*?)(?=^[\w-]+ = |\Z)", found[1] if found else "", re.M | re.S
    )
    return {key: ast.literal_eval(value.strip()) for key, value in entries}


def package_files() -> Iterator[tuple[str, bytes]]:
    """The files of the package itself, by their names in an archive."""
    return _files_below(TOP / "mcpclient")


def source_files() -> Iterator[tuple[str, bytes]]:
    """All files that are needed to build and test the project, by their names in an archive."""
    for name in SOURCES:
        yield from _files_below(TOP / name)


def _files_below(path: Path) -> Iterator[tuple[str, bytes]]:
    if LEFT_BEHIND.fullmatch(path.name):
        return
    if path.is_dir():
        for child in sorted(path.iterdir()):
            yield from _files_below(child)
    else:
        yield path.relative_to(TOP).as_posix(), path.read_bytes()

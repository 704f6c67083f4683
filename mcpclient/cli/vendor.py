"""``mcpclient vendor``: a copy of this package, whole or in parts, for another project."""

from __future__ import annotations

import argparse
import os
import shlex

from ..errors import UsageError
from ..vendoring import copying
from ..vendoring.parts import PARTS
from .command import Answer, LocalCommand, flag, option
from .render import writing
from .screen import Screen

_NOT_PACKAGES = ("src", "lib", "python")


@LocalCommand(
    "vendor",
    usage="[OPTION ...] DEST",
    options=(
        option("--with", "PART,…", "copy only these parts", dest="wanted"),
        option("--without", "PART,…", "copy all parts but these"),
        flag("--update", "replace an earlier copy"),
        flag("--force", "with --update: overwrite changes"),
        flag("--parts", "list the parts and their sizes"),
    ),
    details="The lines of a part are those that it adds to a copy of stdio alone.",
)
def _vendor(screen: Screen, options: argparse.Namespace) -> Answer:
    if options.parts:
        sizes = copying.part_sizes()
        lines = [f"{name:14} {sizes[name]:6}  {part.purpose}" for name, part in PARTS.items()]
        return Answer({"parts": sizes}, "\n".join([f"{'part':14} {'lines':>6}", *lines]))
    if len(options.words) != 1:
        raise UsageError("vendor needs the folder to make, such as src/acme/_vendor/mcpclient")
    destination = options.words[0]
    wanted = _names(options.wanted)
    if wanted is None and options.update and options.without is None:
        wanted = [*copying.parts_of_copy(destination)[1]]
    parts = copying.chosen_parts(wanted, _names(options.without) or ())
    before = copying.parts_of_copy(destination)[0] if options.update else ""
    with writing(destination):
        copied = copying.copy_package(
            destination, parts, update=options.update, force=options.force
        )
    lines = [
        f"{destination}: {copied.files} files, {copied.lines} lines of Python",
        f"parts: {', '.join(copied.parts)}",
    ]
    if options.update:
        lines += [f"changed: {path}" for path in copied.changed] or ["nothing has changed"]
        lines += copying.changes_since(before)
    root, name = _imported_as(destination)
    inside = f"cd {shlex.quote(root)} && " if root else ""
    lines.append(f"verify it with: {inside}python3 -m {name} verify")
    return Answer(copied._asdict(), "\n".join(lines))


def _imported_as(destination: str) -> tuple[str, str]:
    """Return the folder that has to be in Python's path, and the name of a copy from there."""
    folder, name = os.path.split(os.path.normpath(destination))
    while os.path.basename(folder).isidentifier() and os.path.basename(folder) not in _NOT_PACKAGES:
        outer, package = os.path.split(folder)
        has_file = os.path.exists(os.path.join(folder, "__init__.py"))
        if os.path.isabs(folder) and not has_file and not package.startswith("_"):
            break
        folder, name = outer, f"{package}.{name}"
    return folder, name


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name for name in text.replace(" ", "").split(",") if name]

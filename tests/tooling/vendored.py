"""``make vendored``: the tests of a copy that lies in another package, under another name.

Whoever copies the folder into a package of their own imports it as, say, ``host.vendored``. The
tests are copied too, and there they import that; no ``mcpclient`` can be imported. Loggers, folders
and the command line are called mcpclient all the same: what a user sees does not follow the folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .distribution.project import source_files

HOST = "host"
NAME = f"{HOST}.vendored"

# What looks at the repository and not at what the library does, or runs programs from texts that
# are written for the name it is installed by.
LEFT_OUT = (
    *("tests/bench", "tests/fuzz", "tests/soak", "tests/tooling"),
    *("tests/test_features.py", "tests/test_floors.py", "tests/test_randomness.py"),
    *("tests/test_vendoring.py", "tests/test_readme.py", "tests/cli/test_guide.py"),
)

# Each place where a program names a module: statements, also within a text that is a program;
# `python -m`; and texts such as "mcpclient.net.files.replace_file". Those with a single dot are
# names of loggers.
_NAMING = (
    (re.compile(r"\bfrom mcpclient\b(?=[.\w]* import\b)"), f"from {NAME}"),
    (re.compile(r"\bimport mcpclient\b(?!\.)"), f"import {NAME} as mcpclient"),
    (re.compile(r"\bimport mcpclient(?=\.\w)"), f"import {NAME} as mcpclient; import {NAME}"),
    (re.compile(r"(?<=-m\", \")mcpclient\b(?=\")"), NAME),
    (re.compile(r"(?<= -m )mcpclient\b"), NAME),
    (re.compile(r"(?<=\")mcpclient(?=(?:\.\w+){2,}\")"), NAME),
)


def main() -> int:
    """Copy, and run the tests that are named, or all that run the library."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_into(folder)
        paths = sys.argv[1:] or ["tests", *(f"--ignore={path}" for path in LEFT_OUT)]
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
        for command in (
            ["-c", "import importlib.util as u; assert u.find_spec('mcpclient') is None"],
            ["-m", "pytest", "-n", "auto", "--dist", "loadfile", *paths],
        ):
            done = subprocess.run(
                [sys.executable, *command], cwd=folder, env=environment, check=False
            )
            if done.returncode != 0:
                return done.returncode
    return 0


def copy_into(folder: Path) -> None:
    """Copy the package as `NAME` and all else under its own name, with the imports that follow."""
    for name, content in source_files():
        top, _, rest = name.partition("/")
        is_package = top == "mcpclient"
        path = folder.joinpath(*NAME.split("."), rest) if is_package else folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if is_package else renamed(name, content))
    (folder / HOST / "__init__.py").touch()


def renamed(name: str, content: bytes) -> bytes:
    """Return a file that imports the package as `NAME`; what is not Python stays as it is."""
    if not name.endswith(".py"):
        return content
    text = content.decode("utf-8")
    for pattern, replacement in _NAMING:
        text = pattern.sub(replacement, text)
    return text.encode("utf-8")


if __name__ == "__main__":
    sys.exit(main())

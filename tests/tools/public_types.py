"""Whether all types of the library are known: ``python -m tests.tools.public_types``.

Pyright reads the package twice: as its authors do, and as an installed library, of which every
public symbol must have a type that all type checkers read alike (``--verifytypes``).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).parent.parent.parent


def main() -> int:
    """Print the faults, if any, and return the exit code."""
    faults = [*faults_of_the_sources(), *faults_for_users()]
    for fault in faults:
        print(fault)
    print(f"pyright: {len(faults)} faults in mcpclient and in its public types")
    return 1 if faults else 0


def faults_of_the_sources() -> Iterator[str]:
    """The findings of pyright in the package itself."""
    found = _pyright(["--pythonpath", sys.executable, "mcpclient"], TOP, {})
    for each in found["generalDiagnostics"]:
        if each["severity"] == "error":
            yield _shown(each)


def faults_for_users() -> Iterator[str]:
    """The public symbols whose types are not known, or not the same to every type checker."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        venv.EnvBuilder(symlinks=os.name != "nt").create(environment)
        packages = next(environment.rglob("site-packages"))
        shutil.copytree(
            TOP / "mcpclient", packages / "mcpclient", ignore=shutil.ignore_patterns("__pycache__")
        )
        programs = environment / ("Scripts" if os.name == "nt" else "bin")
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        found = _pyright(
            ["--verifytypes", "mcpclient", "--ignoreexternal"],
            Path(folder),
            {"VIRTUAL_ENV": str(environment), "PATH": path},
        )
    completeness = found.get("typeCompleteness")
    if completeness is None or not completeness["symbols"]:
        yield f"pyright found no package: {found}"
        return
    for symbol in completeness["symbols"]:
        for each in symbol.get("diagnostics", []):
            if each["severity"] == "error":
                yield f"{symbol['name']}: {_shown(each)}"


def _pyright(words: list[str], folder: Path, variables: dict[str, str]) -> dict[str, Any]:
    finished = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        report: dict[str, Any] = json.loads(finished.stdout)
    except ValueError:
        raise SystemExit(f"pyright did not run: {finished.stdout}{finished.stderr}") from None
    return report


def _shown(diagnostic: dict[str, Any]) -> str:
    line = diagnostic.get("range", {}).get("start", {}).get("line", -1) + 1
    return f"{diagnostic.get('file', '')}:{line}: {' '.join(diagnostic['message'].split())}"


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.tools.page_lint``: format, names and types of the inspector's page.

By prettier, eslint and the type checker of TypeScript, at the versions that `conformance.peers`
pins; and no modules may import each other in a circle. ``--fix`` formats. Where there is no Node.js
the last line says so, and is not an error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from conformance import peers
from conformance.peers.install import CannotInstall, install, node_and_npm

_ENVIRONMENT = "node-page"
# Comments that silence the checker, and `any` in a type.
_EVASION = re.compile(r"@ts-(?:ignore|expect-error|nocheck)|[{<(|:,] *any\b(?=[^\n]*\*/)|\bany\[\]")
_CONFIGURATION = Path(__file__).parent / "page"
PAGE = peers.TOP / "mcpclient" / "inspector" / "page"


def main(arguments: Sequence[str]) -> int:
    """Check the page, or format it; 1 means that there is something to mend."""
    try:
        install(_ENVIRONMENT)
        node, _ = node_and_npm()
    except CannotInstall as problem:
        print(f"THE PAGE'S JAVASCRIPT IS NOT CHECKED: {problem.gist}")
        return 0
    found = list(problems_of(node, PAGE, fix="--fix" in arguments))
    print("\n".join(found) or "the page's JavaScript is checked: nothing to mend")
    return int(bool(found))


def problems_of(node: str, folder: Path, *, fix: bool = False) -> Iterator[str]:
    """Yield the output of each tool that has something to say about the modules in a folder."""
    sources = sorted(str(path) for path in folder.iterdir() if path.suffix in (".js", ".css"))
    scripts = [path for path in sources if path.endswith(".js")]
    prettier = ("--config", str(_CONFIGURATION / "prettier.json"))
    eslint = ("--config", str(_CONFIGURATION / "eslint.config.mjs"))
    yield from circles(folder)
    tools = (
        ("prettier/bin/prettier.cjs", *prettier, "--write" if fix else "--check", *sources),
        ("eslint/bin/eslint.js", *eslint, *scripts),
        ("typescript/bin/tsc", "--project", str(_CONFIGURATION)),
    )
    for script, *words in tools:
        command = [node, str(peers.node_module(script, _ENVIRONMENT)), *words]
        # eslint takes no file outside of the folder that it runs in.
        finished = subprocess.run(
            command, cwd=folder.parent, capture_output=True, text=True, check=False
        )
        if finished.returncode:
            yield f"{finished.stdout}{finished.stderr}".strip()
    yield from evasions(folder)


def evasions(folder: Path) -> Iterator[str]:
    """Yield the places that switch the type checker off, or leave a type open."""
    for path in sorted(folder.glob("*.js")):
        text = path.read_text("utf-8")
        if not text.startswith("// @ts-check\n"):
            yield f"{path.name}: it is not checked"
        for found in _EVASION.finditer(text):
            yield f"{path.name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"


def circles(folder: Path) -> Iterator[str]:
    """Yield a circle of modules that import each other, if there is one."""
    graph = {
        path.stem: re.findall(r'from "\./(\w+)\.js"', path.read_text("utf-8"))
        for path in folder.glob("*.js")
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"modules that import each other: {' <- '.join(error.args[1])}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The coverage gates of ``make check``: ``python -m tests.tools.coverage_gate``.

Two promises are held, both from the one coverage run of the whole suite:

- the tests together cover `TOTAL` percent of the package, lines and branches;
- each module is covered by its own test file: the tests in ``tests/x/test_y.py`` (and
  ``tests/x/test_y_*.py``) alone run `OWN` percent of the lines of ``mcpclient/x/y.py``.

The second gate keeps a test beside the code it proves: a module that is only run by accident, on
the way to something else, fails it.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage, CoverageData

TOTAL = 95.0
OWN = 90.0

PACKAGE = "mcpclient"

# Modules whose own tests have another name than the rule says.
TEST_FILES = {
    "__init__.py": "test_exports",
    # One table of options, with what reads it.
    "client/connection/client_options.py": "test_options",
}

# Packages that are one machine in several files: what their tests are called follows what goes in
# and comes out, and all of them together are each module's own: a folder of the package's name, or
# one file where that is enough. The command line is tested as it is typed, the manager and the
# blocking twin by what they promise, the errors as one tree.
WHOLE = (
    *(
        "adapters/schemas",
        "bridge",
        "cli",
        "errors",
        "gate",
        "manager",
        "protocol/schema",
        "sandbox",
    ),
    *("sync", "vendoring"),
)

# Modules that need no test file of their own, each with the reason.
EXEMPT = {
    "__pyinstaller/__init__.py": "PyInstaller asks it: tests/vendoring/test_pythons.py",
    "__pyinstaller/hook-mcpclient.py": "PyInstaller runs it: tests/vendoring/test_pythons.py",
    "__main__.py": "hands over to the cli, and runs only as a program of its own",
    "code/program.py": "runs as a program of its own: tests/code/test_runs.py",
    "cli/asking.py": "asks in a terminal, in a process of its own: tests/cli/test_asking.py",
    "cli/bridge.py": "takes over the streams of its process: tests/cli/test_bridge.py",
    "cli/configured.py": "asks in a terminal, in a process of its own: tests/cli/test_servers.py",
    "cli/sessions.py": "starts processes and forks: tests/cli/test_sessions.py",
    "net/session_forks.py": "runs in forks: tests/cli/test_sessions.py",
    "net/session_front.py": "runs as a program of its own: tests/cli/test_sessions.py",
    "typing_compat.py": "no program imports it: its names are for type checkers",
    "sandbox/launcher.py": "runs as a program of its own: tests/sandbox/test_confine.py",
    "testing/pytest_plugin.py": "runs in a pytest of its own: tests/testing/test_pytest_plugin.py",
}


@dataclass(frozen=True)
class Module:
    """The lines of one module: all that can run, and those that its own tests ran."""

    path: str
    lines: frozenset[int]
    own_lines: frozenset[int]

    @property
    def percent(self) -> float:
        return 100 * len(self.own_lines) / len(self.lines) if self.lines else 100.0

    @property
    def missing(self) -> str:
        return textwrap.shorten(ranges(self.lines - self.own_lines), 80, placeholder=" ...")


def main() -> int:
    """Print what falls short and return the exit code: 0 when both gates hold."""
    coverage = Coverage()
    coverage.load()
    total = coverage.report(file=io.StringIO(), skip_empty=True)
    short = [module for module in modules(coverage) if module.percent < OWN]
    if total < TOTAL:
        coverage.report(skip_covered=True, skip_empty=True, show_missing=True, precision=1)
    if short:
        print(f"Modules of which their own tests cover less than {OWN:g} %:")
        for module in sorted(short, key=lambda module: module.percent):
            name = expected_test(module.path)
            print(f"  {module.percent:5.1f} %  {module.path}  ({name} misses {module.missing})")
    print(f"coverage: {total:.1f} % of lines and branches in all; {TOTAL:g} % are asked for")
    print(f"coverage: {len(short)} modules are not covered by tests of their own")
    return 1 if short or total < TOTAL else 0


def modules(coverage: Coverage) -> Iterator[Module]:
    """Yield every module that is not exempt, as the loaded data show it."""
    package = Path(PACKAGE).resolve()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name not in EXEMPT:
            _, statements, _, _, _ = coverage.analysis2(str(path))
            lines = frozenset(statements)
            yield Module(name, lines, lines & _own_lines(coverage.get_data(), path, name))


def _own_lines(data: CoverageData, path: Path, name: str) -> frozenset[int]:
    contexts = data.contexts_by_lineno(str(path))
    own_test = re.compile(own_test_pattern(name))
    own = {line for line, names in contexts.items() if any(map(own_test.match, names))}
    # Whichever test comes first runs the body of a module, so that part counts for everyone.
    return frozenset(own | (contexts.keys() - lines_of_functions(path.read_text("utf-8"))))


def own_test_pattern(name: str) -> str:
    """Return the pattern that the contexts of a module's own tests match."""
    folder = name.rpartition("/")[0]
    for whole in WHOLE:
        if f"{folder}/".startswith(f"{whole}/"):
            parent, _, last = f"tests/{whole}".rpartition("/")
            return rf"{re.escape(parent)}/(test_)?{last}(/|\.py::)"
    test = expected_test(name).removesuffix(".py")
    return rf"{re.escape(test)}(_\w+)?\.py::"


def expected_test(name: str) -> str:
    """Return the test file that the rule expects: ``tests/x/test_y.py`` for ``x/y.py``."""
    folder, _, file = name.rpartition("/")
    stem = TEST_FILES.get(name, f"test_{file[:-3].strip('_')}")
    return "/".join(filter(None, ["tests", folder, f"{stem}.py"]))


def lines_of_functions(source: str) -> set[int]:
    """Return the lines of function bodies: those that importing a module does not run."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for statement in node.body
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }


def ranges(lines: Iterable[int]) -> str:
    """Write line numbers as ranges: ``1-3, 7``."""
    written: list[list[int]] = []
    for line in sorted(lines):
        if written and written[-1][-1] == line - 1:
            written[-1][1:] = [line]
        else:
            written.append([line])
    return ", ".join("-".join(map(str, pair)) for pair in written)


if __name__ == "__main__":
    sys.exit(main())

"""``make vendored``: the tests of a copy that lies in another package, under another name.

Whoever copies the folder into a package of their own imports it as, say, ``host.vendored``. The
tests are copied too, and there they import that; no ``mcpclient`` can be imported. Loggers, folders
and the command line are called mcpclient all the same: what a user sees does not follow the folder.
The slow tests are left out: they show the library's behaviour, which does not depend on its name.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from mcpclient import _EXPORTS
from mcpclient.vendoring.copying import chosen_parts, copy_package

from .distribution.project import source_files

HOST = "host"
NAME = f"{HOST}.vendored"

# What looks at the repository and not at what the library does, or runs programs from strings that
# are written for the name it is installed by.
# A copy of some parts has no whole to look at either.
LEFT_OUT_OF_PARTS = (
    *("tests/support", "tests/test_costs.py", "tests/test_exports.py", "tests/test_style.py"),
    *("tests/test_import_cost.py", "tests/gate/test_census.py"),
)
WHOLE = Path(__file__).parent.parent.parent / "mcpclient"

DEMO = Path("testing", "demo_server.py")

# What most tests of a part use beside it.
BESIDE = {"cli": ("http", "websocket", "subscriptions", "sandbox", "testing")}

# In a copy of some parts, a test that reaches for another one has nothing to show.
_PLUGIN = """\
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.excinfo is not None and "this copy was made without" in str(call.excinfo.value):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, str(call.excinfo.value))
    return report

@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if report.failed and "this copy was made without" in str(report.longrepr):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, "it needs another part")
    return report
"""

LEFT_OUT = (
    *("tests/test_bandit.py", "tests/test_contributing.py", "tests/vendoring", "tests/support"),
    *("tests/cli/test_vendor.py", "tests/sandbox/test_confine.py"),
    *("tests/testing/test_demo_server.py", "tests/recording/test_secret_arguments.py"),
    *("tests/tools/bench", "tests/tools/fuzz", "tests/tools/soak", "tests/tools"),
    *("tests/test_features.py", "tests/test_floors.py", "tests/test_randomness.py"),
    *("tests/test_vendoring.py", "tests/test_readme.py", "tests/cli/test_guide.py"),
    "tests/cli/test_screens.py",
)

# Each place where a program names a module: statements, also within a string that is a program;
# `python -m`; and strings such as "mcpclient.net.files.replace_file". Those with a single dot are
# names of loggers.
_NAMING = (
    (re.compile(r"\bfrom mcpclient\b(?=[.\w]* import\b)"), f"from {NAME}"),
    (re.compile(r"\bimport mcpclient\b(?!\.)"), f"import {NAME} as mcpclient"),
    (re.compile(r"\bimport mcpclient(?=\.\w)"), f"import {NAME} as mcpclient; import {NAME}"),
    (re.compile(r"(?<=-m\", \")mcpclient\b(?=\")"), NAME),
    (re.compile(r"(?<= -m )mcpclient\b"), NAME),
    (re.compile(r"(?<=\")mcpclient(?=(?:\.\w+){2,}\")"), NAME),
    # The demo server, by the path of its file.
    (re.compile(r"\bmcpclient/testing/demo_server\.py"), "host/vendored/testing/demo_server.py"),
    (
        re.compile(r"\"mcpclient\" / \"testing\" / \"demo_server\.py\""),
        '"host" / "vendored" / "testing" / "demo_server.py"',
    ),
)


def main() -> int:
    """Copy, and run the tests that are named, or all that run the library.

    ``--parts stdio,http``: a copy of these parts only, with the tests that need no other.
    """
    arguments = sys.argv[1:]
    parts = None
    if arguments[:1] == ["--parts"]:
        parts, arguments = arguments[1].split(","), arguments[2:]
        parts += [beside for part in parts for beside in BESIDE.get(part, ())]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_into(folder)
        if parts is not None:
            leave_only(folder, parts)
        left_out = LEFT_OUT if parts is None else (*LEFT_OUT, *LEFT_OUT_OF_PARTS)
        plugin = [] if parts is None else ["-p", "parts_plugin"]
        paths = arguments or ["tests", *(f"--ignore={path}" for path in left_out)]
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
        for command in (
            ["-c", "import importlib.util as u; assert u.find_spec('mcpclient') is None"],
            ["-m", "pytest", "-n", "auto", "--dist", "loadfile", "-m", "not slow", *plugin, *paths],
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


def leave_only(folder: Path, parts: Sequence[str]) -> None:
    """Make the copy one of these parts, and take out the tests that import anything else."""
    package = folder.joinpath(*NAME.split("."))
    shutil.rmtree(package)
    copied = copy_package(package, chosen_parts(parts))
    print(f"{copied.lines} lines of Python: {', '.join(copied.parts)}", flush=True)
    exports = {name: module.lstrip(".") for name, module in _EXPORTS.items()}
    tests = {
        ".".join(path.relative_to(folder).with_suffix("").parts): path
        for path in folder.rglob("*.py")
        if package not in path.parents
    }
    sources = {module: path.read_text("utf-8") for module, path in tests.items()}
    there = {
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
        for path in package.rglob("*.py")
        if not path.read_bytes().startswith(b'"""Left out')  # else it stands for another part
    }

    def lacks(module: str, seen: set[str]) -> bool:
        """Whether a test module imports, itself or by another, what was not copied."""
        if module in seen or module not in tests:
            return False
        seen.add(module)
        for name in imported_by(sources[module], module):
            inner = name[len(NAME) + 1 :] if f"{name}.".startswith(f"{NAME}.") else None
            if inner is None:
                if lacks(name, seen) or lacks(name.rpartition(".")[0], seen):
                    return True
                continue
            inner = exports.get(inner, inner)
            if inner and there.isdisjoint((inner, inner.rpartition(".")[0])):
                return True
        return False

    lacking = [path for module, path in tests.items() if lacks(module, set())]
    rooms = [each for each in (folder / "tests").iterdir() if _is_missing(each.name, package)]
    for needless in [*rooms, *(path.parent for path in lacking if path.name == "conftest.py")]:
        shutil.rmtree(needless, ignore_errors=True)
    for path in lacking:
        if path.name.startswith("test_"):
            path.unlink(missing_ok=True)
    (folder / "parts_plugin.py").write_text(_PLUGIN)
    demo = package / DEMO
    if not demo.exists():  # the server of many tests, whatever they test
        demo.parent.mkdir(exist_ok=True)
        shutil.copy(WHOLE / DEMO, demo)


def _is_missing(room: str, package: Path) -> bool:
    """Whether a room of the whole has no module of its own in the copy."""
    own = (
        path
        for path in (package / room).rglob("*.py")
        if path.name != "__init__.py" and not path.read_bytes().startswith(b'"""Left out')
    )
    return (WHOLE / room).is_dir() and next(own, None) is None


def imported_by(source: str, module: str) -> Iterator[str]:
    """Yield the imports of a module's statements; those under ``try`` may fail."""
    tree = ast.parse(source)
    optional = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A test module is not a package: one dot is the folder that it stands in.
            base = module.rsplit(".", node.level)[0] if node.level else ""
            name = ".".join(filter(None, (base, node.module)))
            yield from (f"{name}.{alias.name}" for alias in node.names)


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

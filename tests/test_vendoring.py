"""F-PACK-2: the folder works under another name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import mcpclient
from tests.support.subprocesses import TOP, run_python
from tests.tools.imports import all_imports, read_sources

PACKAGE = Path(mcpclient.__file__).parent


def test_no_module_imports_its_own_package_by_name() -> None:
    """F-PACK-2: relative imports only."""
    naming = re.compile(rf"(?m)^\s*(import|from)\s.*\b{PACKAGE.name}\b")
    suspects = {
        module: source for module, source in read_sources(PACKAGE).items() if naming.search(source)
    }
    own = [found for found in all_imports(suspects) if not found.internal]
    assert not [str(found) for found in own if found.target.partition(".")[0] == PACKAGE.name]


def copy_module(source: str, target: str) -> None:
    """Copy a file with its time, so that its bytecode is used, and without `shutil.copy2`,
    which of Python 3.13 crashes Wine."""
    shutil.copyfile(source, target)
    shutil.copystat(source, target)


@pytest.mark.slow
def test_a_copy_of_the_modules_under_another_name_is_the_whole_library(tmp_path: Path) -> None:
    """F-PACK-2: it needs no data file to meet a server, and never reaches for the original."""
    shutil.copytree(
        PACKAGE,
        tmp_path / "host" / "vendored_client",
        copy_function=copy_module,
        ignore=shutil.ignore_patterns("*.[!pc]*", "*.css", "*.pyi", "py.typed"),
    )
    printed = run_python(
        f"""
        import importlib, pkgutil, sys
        from host import vendored_client

        for name in vendored_client.__all__:
            getattr(vendored_client, name)
        for module in pkgutil.walk_packages(vendored_client.__path__, "host.vendored_client."):
            importlib.import_module(module.name)
        assert issubclass(vendored_client.PeerError, vendored_client.McpError)
        command = [sys.executable, {str(TOP / "mcpclient/testing/demo_server.py")!r}]
        with vendored_client.sync.connect(command) as client:
            print([tool.name for tool in client.list_tools()])
            print(client.call_tool("add", {{"a": 1, "b": 2}}).text)
        assert {PACKAGE.name!r} not in sys.modules
        print(vendored_client.PeerError.__module__)
        """,
        folder=tmp_path,
    )
    assert printed.splitlines() == [
        "['echo', 'add', 'count', 'fail']",
        "3",
        "host.vendored_client.errors.server",
    ]

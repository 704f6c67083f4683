"""F-PACK-2: the folder works under another name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

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


def test_a_copy_under_another_name_offers_every_public_name(tmp_path: Path) -> None:
    """F-PACK-2: a copy of the folder is a working library, and never reaches for the original."""
    shutil.copytree(
        PACKAGE,
        tmp_path / "host" / "vendored_client",
        copy_function=shutil.copyfile,  # copy2 of Python 3.13 crashes Wine
        ignore=shutil.ignore_patterns("py.typed"),
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
        assert {PACKAGE.name!r} not in sys.modules
        print(vendored_client.PeerError.__module__)
        """,
        folder=tmp_path,
    )
    assert printed.strip() == "host.vendored_client.errors.server"


def test_the_modules_alone_are_a_client(tmp_path: Path) -> None:
    """F-PACK-2: no data files are needed to meet a server."""
    for path in PACKAGE.rglob("*.py"):
        copy = tmp_path / "alone" / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    printed = run_python(
        f"""
        import sys
        from alone import sync

        command = [sys.executable, {str(TOP / "mcpclient/testing/demo_server.py")!r}]
        with sync.connect(command) as client:
            print([tool.name for tool in client.list_tools()])
            print(client.call_tool("add", {{"a": 1, "b": 2}}).text)
        """,
        folder=tmp_path,
    )
    assert printed == "['echo', 'add', 'count', 'fail']\n3\n"

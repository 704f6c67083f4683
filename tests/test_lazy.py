"""Modules that are imported when something in them is first used: F-PACK-3."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mcpclient
from mcpclient.errors import UsageError
from mcpclient.lazy import OnDemand, import_part
from mcpclient.vendoring import parts
from tests.support.subprocesses import run_python
from tests.tools.imports import read_sources

PACKAGE = Path(mcpclient.__file__).parent


def test_the_first_use_imports() -> None:
    printed = run_python(
        """
        import sys
        from mcpclient.lazy import OnDemand
        words = OnDemand("shlex")
        print("shlex" in sys.modules, words.split("a 'b c'"), "shlex" in sys.modules)
        """
    )
    assert printed.strip() == "False ['a', 'b c'] True"


def test_what_is_not_there_is_no_attribute() -> None:
    module = OnDemand("..display", f"{mcpclient.__name__}.cli.main")
    assert module.HIDDEN == "…"
    with pytest.raises(AttributeError, match="nothing"):
        module.nothing  # noqa: B018


def test_each_is_what_type_checkers_take_it_for() -> None:
    """The name stands for one module, whoever reads it."""
    seen = 0
    users = {module: text for module, text in read_sources(PACKAGE).items() if "OnDemand" in text}
    for module, source in users.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.If) and any(
                "OnDemand" in ast.unparse(each) for each in node.orelse
            ):
                typed = dict(imported(node.body))
                for statement in node.orelse:
                    assert isinstance(statement, ast.Assign), module
                    assert isinstance(statement.value, ast.Call), module
                    name = ast.unparse(statement.targets[0])
                    where = ast.literal_eval(statement.value.args[0])
                    assert typed[name] == where, (module, name)
                    seen += 1
    assert seen > 10


def imported(body: list[ast.stmt]) -> list[tuple[str, str]]:
    """The names that statements import, and the modules they stand for if they are modules."""
    found = []
    for node in body:
        if isinstance(node, ast.Import):
            found += [(each.asname or each.name, each.name) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = "." * node.level + (f"{node.module}." if node.module else "")
            found += [(each.asname or each.name, folder + each.name) for each in node.names]
    return found


def test_a_part_that_a_copy_lacks_is_told() -> None:
    """F-VEND-2: and another missing module is what it is."""
    with pytest.raises(UsageError, match="this copy was made without auth"):
        import_part("mcpclient.auth.no_such_module", None)
    with pytest.raises(UsageError, match="--with sync,models"):
        raise (
            parts.missing_part(ModuleNotFoundError(name="mcpclient.sync.toolbox"), "mcpclient")
            or AssertionError
        )
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        import_part("no_such_module_anywhere", None)

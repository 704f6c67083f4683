"""Modules that are imported when something in them is first used: F-PACK-3."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mcpclient
from mcpclient import lazy
from mcpclient.errors import UsageError
from mcpclient.lazy import import_part
from mcpclient.vendoring import parts
from tests.support.subprocesses import run_python
from tests.tools.imports import read_sources

PACKAGE = Path(mcpclient.__file__).parent


def test_the_first_use_imports() -> None:
    printed = run_python(
        """
        import sys
        from mcpclient.lazy import shlex, skills
        print("shlex" in sys.modules, shlex.split("a 'b c'"), "shlex" in sys.modules)
        print("mcpclient.protocol.skills" in sys.modules)
        from mcpclient.protocol.skills import Skill
        print(skills.Skill is Skill)
        """
    )
    assert printed.splitlines() == ["False ['a', 'b c'] True", "False", "True"]


def test_what_is_not_there_is_no_attribute() -> None:
    module = lazy.OnDemand(".display")
    assert module.HIDDEN == "…"
    with pytest.raises(AttributeError, match="nothing"):
        module.nothing  # noqa: B018
    with pytest.raises(ImportError, match="no_such_module"):
        from mcpclient.lazy import no_such_module  # type: ignore[attr-defined]  # noqa: F401


def test_each_is_what_type_checkers_take_it_for() -> None:
    """The name stands for one module, whoever reads it."""
    (block,) = (
        node
        for node in ast.parse(Path(lazy.__file__).read_text("utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    typed = {}
    *imports, alias = block.body
    for node in imports:
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        (each,) = node.names
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        package = node.module if isinstance(node, ast.ImportFrom) else None
        where = ".".join(filter(None, [package, each.name]))
        typed[each.asname or each.name] = "." * level + where
    assert typed.pop("ModuleType") == "types.ModuleType"
    assert ast.unparse(alias) == "cli_configured = _configured"
    typed["cli_configured"] = typed.pop("_configured")
    assert typed == lazy.ON_DEMAND


def test_each_is_used() -> None:
    used = {
        each.name
        for source in read_sources(PACKAGE).values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "lazy"
        for each in node.names
    }
    assert lazy.ON_DEMAND.keys() <= used


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

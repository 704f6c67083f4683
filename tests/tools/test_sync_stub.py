"""F-API-18, F-PACK-1: what type checkers know of the blocking classes is what there is."""

from __future__ import annotations

import ast
import inspect

import pytest

from mcpclient import sync
from tests.support.tables import each_row
from tests.tools.sync_stub import OPTIONS, ROOT_STUB, STUB, root_text, stub_text

TREE = ast.parse(STUB.read_text("utf-8"))
ALL = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}
CLASSES = [name for name in ALL if not name.startswith("_")]


def body_of(name: str) -> list[ast.stmt]:
    """The members of a class, also of its base in the stub."""
    bases = [base.id for base in ALL[name].bases if isinstance(base, ast.Name)]
    return [*ALL[name].body, *(member for base in bases for member in ALL[base].body)]


def names_in(body: list[ast.stmt]) -> set[str]:
    """The names that statements define."""
    variables = {node.target for node in body if isinstance(node, ast.AnnAssign)}
    definitions = {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    return definitions | {node.id for node in variables if isinstance(node, ast.Name)}


@pytest.mark.slow
def test_the_stub_is_up_to_date() -> None:
    """F-API-18: signatures equal the asynchronous ones."""
    for stub, text in ((STUB, stub_text()), (ROOT_STUB, root_text())):
        assert stub.read_text("utf-8") == text, "run: python -m tests.tools.sync_stub"


@each_row("name", CLASSES)
def test_the_stub_has_every_public_member(name: str) -> None:
    public = {each for each in dir(getattr(sync, name)) if not each.startswith("_")}
    assert public == {each for each in names_in(body_of(name)) if not each.startswith("_")}


def test_every_name_of_the_module_is_in_the_stub() -> None:
    own = {*OPTIONS.values(), "_Shared", "__all__"}
    assert names_in(TREE.body) == {*sync.__all__, *own}
    for name in sync.__all__:
        assert inspect.getdoc(getattr(sync, name)), name
    assert set(sync.__all__) <= set(dir(sync))
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        getattr(sync, "conect")  # noqa: B009 - a type checker knows it, too

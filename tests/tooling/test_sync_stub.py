"""F-API-18, F-PACK-1: what type checkers know of the blocking classes is what there is."""

from __future__ import annotations

import ast
import inspect

import pytest

from mcpclient import sync
from tests.tooling.sync_stub import OPTIONS, STUB, stub_text

TREE = ast.parse(STUB.read_text("utf-8"))
CLASSES = {
    node.name: node
    for node in TREE.body
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
}


def test_the_stub_is_up_to_date() -> None:
    """F-API-18: signatures equal the asynchronous ones."""
    assert STUB.read_text("utf-8") == stub_text(), "run: python -m tests.tooling.sync_stub"


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_what_the_stub_says(name: str) -> None:
    blocking = getattr(sync, name)
    for node in CLASSES[name].body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(blocking, node.name), node.name


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_has_every_public_member(name: str) -> None:
    written = {node.name for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    written |= {
        node.target.id
        for node in CLASSES[name].body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    public = {each for each in dir(getattr(sync, name)) if not each.startswith("_")}
    assert public == {each for each in written if not each.startswith("_")}


def test_every_name_of_the_module_is_in_the_stub() -> None:
    defined = {node.name for node in TREE.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert defined == {*sync.__all__, *OPTIONS.values()}
    for name in sync.__all__:
        assert inspect.getdoc(getattr(sync, name)), name
    assert set(sync.__all__) <= set(dir(sync))
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        getattr(sync, "conect")  # noqa: B009 - a type checker knows it, too

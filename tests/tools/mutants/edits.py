"""Mutants: small edits of the syntax tree, at most one for each line of a function."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from conformance.replay.unseen import for_the_program

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPPOSITES = {**_COMPARISONS, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}


class Mutant(NamedTuple):
    """An edit: the file, the outermost function, the line, and which of the line's edits.

    ``decides``: a comparison becomes its opposite, and a constant another one; no limit moves by
    one, and no text becomes a little longer.
    """

    path: str
    function: str
    first_line: int
    line: int
    number: int
    decides: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.function}, edit {self.number})"


_DECISIONS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.If, ast.While, ast.Constant)


def mutants_of(
    path: Path, name: str, chance: random.Random, *, decides: bool = False
) -> Iterator[Mutant]:
    """Yield one mutant for each line that can be edited, in functions of the file.

    ``decides``: edit conditions and constants only, and none that the program alone can see: of
    logs, of sentences, of the text of errors, of types, and of what refuses its arguments.
    """
    tree = ast.parse(path.read_text("utf-8"))
    for qualname, function in _functions(tree, ""):
        left_out = for_the_program(function) if decides else set()
        lines: dict[int, list[bool]] = defaultdict(list)
        for node in _edited_nodes(function):
            is_left_out = decides and (not isinstance(node, _DECISIONS) or node in left_out)
            lines[node.lineno].append(not is_left_out)
        for line, edits in lines.items():
            if any(edits):
                chosen = [number for number, is_chosen in enumerate(edits) if is_chosen]
                yield Mutant(name, qualname, function.lineno, line, chance.choice(chosen), decides)


def code_with(path: Path, mutant: Mutant) -> CodeType:
    """Return the code of the outermost function with the edit in it."""
    tree, function = _edited(path, mutant)
    module = compile(tree, str(path), "exec", dont_inherit=True)
    return next(
        code
        for code in _codes(module)
        if code.co_qualname == mutant.function  # type: ignore[attr-defined]
        and code.co_firstlineno in _first_lines(function)
    )


def text_with(path: Path, mutant: Mutant) -> str:
    """Return the source of the whole file with the edit in it, without its comments."""
    return ast.unparse(_edited(path, mutant)[0])


def _edited(
    path: Path, mutant: Mutant
) -> tuple[ast.Module, ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text("utf-8"))
    function = next(
        node
        for qualname, node in _functions(tree, "")
        if (qualname, node.lineno) == (mutant.function, mutant.first_line)
    )
    at_line = [node for node in _edited_nodes(function) if node.lineno == mutant.line]
    _Edit(at_line[mutant.number], decides=mutant.decides).visit(function)
    return ast.fix_missing_locations(tree), function


def _first_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[int]:
    return {function.lineno, *(each.lineno for each in function.decorator_list)}


def _functions(
    node: ast.AST, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.If, ast.Try)):
            yield from _functions(child, prefix)


def _edited_nodes(function: ast.AST) -> list[ast.expr | ast.stmt]:
    found: list[ast.expr | ast.stmt] = []

    def visit(node: ast.AST) -> None:
        for field, value in ast.iter_fields(node):
            is_argument = field == "args" and isinstance(node, ast.Call)
            if field in ("annotation", "returns", "decorator_list", "args") and not is_argument:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    if isinstance(child, (ast.expr, ast.stmt)) and _can_edit(child, node):
                        found.append(child)
                    visit(child)

    visit(function)
    return found


def _can_edit(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS
    if isinstance(node, ast.BoolOp):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Constant):
        in_text = isinstance(parent, (ast.Expr, ast.JoinedStr, ast.FormattedValue))
        return not in_text and node.value is not None and node.value is not Ellipsis
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Await))
    if isinstance(node, ast.Return):
        return node.value is not None
    if isinstance(node, (ast.If, ast.While)):
        return isinstance(node.test, (ast.Name, ast.Attribute, ast.Call))
    if isinstance(node, (ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        return isinstance(target, (ast.Attribute, ast.Subscript))
    return False


class _Edit(ast.NodeTransformer):
    """Edits one node."""

    def __init__(self, node: ast.AST, *, decides: bool) -> None:
        self._node = node
        self._comparisons = _OPPOSITES if decides else _COMPARISONS
        self._other = _another if decides else _other

    def visit(self, node: ast.AST) -> ast.AST:
        return self._edited(node) if node is self._node else self.generic_visit(node)

    def _edited(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Compare):
            node.ops = [self._comparisons[type(node.ops[0])]()]
        elif isinstance(node, ast.BoolOp):
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        elif isinstance(node, ast.UnaryOp):
            return node.operand
        elif isinstance(node, ast.Constant):
            return ast.copy_location(ast.Constant(self._other(node.value)), node)
        elif isinstance(node, ast.Return):
            return ast.copy_location(ast.Return(ast.Constant(None)), node)
        elif isinstance(node, (ast.If, ast.While)):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        else:
            return ast.copy_location(ast.Pass(), node)
        return node


def _another(value: Any) -> Any:
    """Return a constant that has nothing in common with this one."""
    if isinstance(value, (str, bytes)):
        other = "x" if isinstance(value, str) else b"x"
        return other if value != other else other * 2
    return type(value)(not value) if isinstance(value, (bool, int, float)) else value


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return value + b"x" if isinstance(value, bytes) else value


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)

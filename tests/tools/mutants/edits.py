"""Mutants: small edits of the syntax tree, at most one for each line of a function."""

from __future__ import annotations

import ast
import builtins
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from mcpclient import errors

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

# Where a statement speaks to one of these, it speaks to the program and not to the server.
_PROGRAM = {"_logger", "log", "_log", "_events", "_channel", "recorder", "_recorder", "hooks"}
_PROGRAM |= {"_begin_record", "_end_record", "audit", "watchers", "sandbox"}

_EXCEPTIONS = {
    name
    for name, kind in {**vars(builtins), **vars(errors)}.items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def mutants_of(
    path: Path, name: str, chance: random.Random, *, decides: bool = False
) -> Iterator[Mutant]:
    """Yield one mutant for each line that can be edited, in functions of the file.

    ``decides``: edit conditions and constants only, and none that the program alone can see: of
    logs, of sentences, of the text of errors, of types, and of what refuses its arguments.
    """
    tree = ast.parse(path.read_text("utf-8"))
    for qualname, function in _functions(tree, ""):
        left_out = _for_the_program(function) if decides else set()
        lines: dict[int, list[bool]] = defaultdict(list)
        for node in _edited_nodes(function):
            is_left_out = decides and (not isinstance(node, _DECISIONS) or node in left_out)
            lines[node.lineno].append(not is_left_out)
        for line, edits in lines.items():
            if any(edits):
                chosen = [number for number, is_chosen in enumerate(edits) if is_chosen]
                yield Mutant(name, qualname, function.lineno, line, chance.choice(chosen), decides)


def _for_the_program(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[ast.AST]:
    """Return the nodes of which a server cannot see anything, by these rules.

    Words are for the program: sentences and all that stands in them, the strings of an exception,
    names of types, logs, and local variables of which nothing but words is made. So are refusals of
    its own misuse, assertions, records of what was sent, and conditions that ask only whether it
    records, watches or confines. The limits on what this library keeps are its own: which other one
    must be reached as well, and by what number one is multiplied, is no server's to see.
    """
    if function.name in ("__repr__", "__str__"):
        return set(ast.walk(function))
    found: set[ast.AST] = set()
    for node in ast.walk(function):
        is_made = isinstance(node, ast.Call) and not _EXCEPTIONS.isdisjoint(_name(node.func))
        is_cast = isinstance(node, ast.Call) and "cast" in _names(node.func)
        if " " in _text_of(node):
            found.add(node)
        if isinstance(node, ast.JoinedStr) and any(" " in _text_of(part) for part in node.values):
            found.update(ast.walk(node))
        if isinstance(node, ast.withitem) and not _PROGRAM.isdisjoint(_names(node.context_expr)):
            found.update(ast.walk(node))
        if isinstance(node, ast.Raise) or is_cast or is_made:
            found.update(each for each in ast.walk(node) if _text_of(each))
        elif isinstance(node, ast.Assert) or _tells_the_program(node):
            found.update(ast.walk(node))
        elif isinstance(node, ast.If) and _is_for_the_program(node):
            found.update([node, *ast.walk(node.test)])
        elif isinstance(node, ast.BoolOp) and all(map(_compares_a_limit, node.values)):
            found.add(node)
        elif isinstance(node, ast.BinOp) and _has_a_limit(node):
            found.update([node.left, node.right])
    return found | _made_into_words(function, found)


def _made_into_words(function: ast.AST, words: set[ast.AST]) -> set[ast.AST]:
    """Return the nodes of values that are assigned to names which are loaded in words only.

    A value that is waited for may have been asked for.
    """
    waits = (ast.Await, ast.Yield, ast.YieldFrom)
    assigned = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and not any(isinstance(each, waits) for each in ast.walk(node.value))
    ]
    names = {each.id for node in assigned for each in _targets(node)}
    while True:
        made = {
            each
            for node in assigned
            if _targets(node) and all(target.id in names for target in _targets(node))
            for each in ast.walk(node.value)
        }
        others = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node not in words | made
        }
        if names.isdisjoint(others):
            return made
        names -= others


def _targets(node: ast.Assign) -> list[ast.Name]:
    """Return the names that an assignment binds; none where it sets anything else as well."""
    found = [part for target in node.targets for part in getattr(target, "elts", [target])]
    return found if all(isinstance(each, ast.Name) for each in found) else []


def _is_for_the_program(node: ast.If) -> bool:
    """Whether it asks what only the program knows, or does nothing but speak to it."""
    operands = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    if not any(_PROGRAM.isdisjoint(_names(operand)) for operand in operands):
        return True
    calls = [each.func for each in ast.walk(node.test) if isinstance(each, ast.Call)]
    acts = any("self" in _names(call) for call in calls)
    return not acts and all(map(_tells_the_program, node.body))


def _compares_a_limit(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(map(_is_limit, ast.walk(node)))


def _has_a_limit(node: ast.BinOp) -> bool:
    return _is_limit(node.left) or _is_limit(node.right)


def _is_limit(node: ast.AST) -> bool:
    name = next(iter(_name(node)), "").upper()
    return "MAX_" in name or name.endswith("_LIMIT")


def _name(node: ast.AST) -> set[str]:
    """Return the last name of a dotted one."""
    return {name for name in (getattr(node, "attr", ""), getattr(node, "id", "")) if name}


def _tells_the_program(node: ast.AST) -> bool:
    """Whether a statement only logs, or says that the program has misused the library."""
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Call) and "UsageError" in _names(node.exc.func)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return not _PROGRAM.isdisjoint(_names(node.value.func))


def _names(node: ast.AST) -> set[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _text_of(node: ast.AST) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ""
    return node.value


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

"""The parts of a function's source of which a server sees nothing, and so no replay: by rules."""

from __future__ import annotations

import ast
import builtins

from mcpclient import errors

__all__ = ["for_the_program"]

# Where a statement speaks to one of these, it speaks to the program and not to the server.
_PROGRAM = {"_logger", "log", "_log", "_events", "_channel", "recorder", "_recorder", "hooks"}
_PROGRAM |= {"_begin_record", "_end_record", "records_itself", "audit", "watchers", "sandbox"}
_PROGRAM |= {"Audit", "explain", "session_observer"}
# So it does where this is an attribute; a variable of that name holds events of the wire.
_CALLBACKS = "events"

_EXCEPTIONS = {
    name
    for name, kind in {**vars(builtins), **vars(errors)}.items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def for_the_program(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[ast.AST]:
    """Return the nodes of which a server cannot see anything, by these rules.

    Words are for the program: sentences with their parts, the strings of an exception, names of
    types, logs, and local variables that are used in words alone. So are refusals of its own
    misuse, assertions, records of the traffic, hooks, callbacks and hints with their arguments, and
    conditions that ask only whether the program records, watches or confines. The limits
    on the memory of this library are its own: a server cannot see which other one must be reached
    as well, by what number one is multiplied, and how depth is counted that only a limit reads.
    """
    if function.name in ("__repr__", "__str__"):
        return set(ast.walk(function))
    found: set[ast.AST] = set()
    for node in ast.walk(function):
        is_made = isinstance(node, ast.Call) and not _EXCEPTIONS.isdisjoint(_name(node.func))
        is_cast = isinstance(node, ast.Call) and "cast" in _names(node.func)
        if isinstance(node, ast.Call) and _is_of_the_program(node.func) and not _waits(node):
            found.update(ast.walk(node))
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
    found |= _counted_to_a_limit(function)
    return found | _made_into_words(function, found)


def _counted_to_a_limit(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[ast.AST]:
    """Return the numbers added to a parameter that is compared with limits alone.

    Otherwise it is only handed on to the function itself, as depth is.
    """
    compared = set[ast.AST]()
    handed_on = set[ast.AST]()
    for node in ast.walk(function):
        if _compares_a_limit(node):
            compared.update(ast.walk(node))
        elif isinstance(node, ast.Call) and function.name in _name(node.func):
            handed_on.update(each for part in node.args for each in ast.walk(part))
    counted = set[ast.AST]()
    for name in (each.arg for each in function.args.args):
        read = {each for each in ast.walk(function) if getattr(each, "id", "") == name}
        if read & compared and read <= compared | handed_on:
            counted.update(
                each.right
                for each in handed_on
                if isinstance(each, ast.BinOp) and name in _name(each.left)
            )
    return counted


def _made_into_words(function: ast.AST, words: set[ast.AST]) -> set[ast.AST]:
    """Return the nodes of values that are assigned to names which are loaded in words only.

    A value that is waited for may have been asked for.
    """
    assigned = [
        node
        for node in ast.walk(function)
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and node.value is not None
        and not _waits(node.value)
    ]
    names = {each.id for node in assigned for each in _targets(node)}
    while True:
        made = {
            each
            for node in assigned
            if _targets(node) and all(target.id in names for target in _targets(node))
            for each in ast.walk(node.value or node)
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


def _waits(node: ast.AST) -> bool:
    waits = (ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(each, waits) for each in ast.walk(node))


def _is_of_the_program(function: ast.AST) -> bool:
    """Whether a function that is called speaks to the program."""
    attributes = {each.attr for each in ast.walk(function) if isinstance(each, ast.Attribute)}
    return not _PROGRAM.isdisjoint(_names(function)) or _CALLBACKS in attributes


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.Name]:
    """Return the names that an assignment binds; none where it sets anything else as well."""
    bound = node.targets if isinstance(node, ast.Assign) else [node.target]
    found = [part for target in bound for part in getattr(target, "elts", [target])]
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
    if not isinstance(node, ast.Expr) or _waits(node):
        return False
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(map(_is_of_the_program, calls))


def _names(node: ast.AST) -> set[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _text_of(node: ast.AST) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ""
    return node.value

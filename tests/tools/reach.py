"""The references among functions and classes of a package, read from their syntax trees.

A node is a function or a class at the top of a module, or the module's own statements. It refers
to what its body names, annotations aside: a class counts with all of its methods. Who holds an
object and calls its methods is not seen; whoever made the object is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Set
from typing import NamedTuple

from tests.tools.imports import Import, imports_of

Parts = tuple[str, ...]


class Node(NamedTuple):
    """A function or class of a module; the name is "" for the module's own statements."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


class Graph(NamedTuple):
    """``refers``: to which nodes each one refers. ``calls``: what else it names, in full."""

    refers: Mapping[Node, Set[Node]]
    calls: Mapping[Node, Set[str]]

    def reaching(self, first: Collection[Node]) -> set[Node]:
        """Return the nodes from which one of ``first`` is reached, themselves included."""
        users: dict[Node, list[Node]] = {}
        for node, others in self.refers.items():
            for other in others:
                users.setdefault(other, []).append(node)
        found, pending = set(first), list(first)
        while pending:
            for user in users.get(pending.pop(), ()):
                if user not in found:
                    found.add(user)
                    pending.append(user)
        return found


def graph_of(sources: Mapping[str, str]) -> Graph:
    """Return the graph of a package that is given as sources by dotted name."""
    trees = {module: ast.parse(source, module) for module, source in sources.items()}
    names = {
        module: {getattr(statement, "name", "") for statement in tree.body}
        for module, tree in trees.items()
    }
    refers: dict[Node, set[Node]] = {}
    calls: dict[Node, set[str]] = {}
    for module, tree in trees.items():
        imported = dict(_names_of(imports_of(module, tree, sources), tree))
        for statement in tree.body:
            is_own = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            node = Node(module, statement.name if is_own else "")  # type: ignore[attr-defined]
            for parts in _mentions(statement):
                first, *rest = parts
                found = imported.get(first)
                if found is None:
                    if first in names[module]:
                        refers.setdefault(node, set()).add(Node(module, first))
                    calls.setdefault(node, set()).add(".".join(parts))
                elif not found.internal:
                    full = [found.target, *filter(None, [found.name]), *rest]
                    calls.setdefault(node, set()).add(".".join(full))
                else:
                    name = found.name or (rest[0] if rest else "")
                    refers.setdefault(node, set()).add(Node(found.target, name))
    return Graph(refers, calls)


def _names_of(imports: list[Import], tree: ast.Module) -> Iterator[tuple[str, Import]]:
    """Yield the names that imports have in a module."""
    aliases = {
        (alias.name, statement.lineno): alias.asname
        for statement in ast.walk(tree)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    }
    for found in imports:
        last = found.name or found.target.rpartition(".")[2]
        whole = last if found.internal or found.name else found.target.partition(".")[0]
        yield aliases.get((last, found.line)) or whole, found


def _mentions(node: ast.AST) -> Iterator[Parts]:
    """Yield the names in a node, with their attributes, except those in annotations."""
    parts = _dotted(node)
    if parts:
        yield parts
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _mentions(child)


def _dotted(node: ast.AST) -> Parts:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return (*before, node.attr) if before else ()
    return ()

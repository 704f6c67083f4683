"""The uses of randomness in a package, read from its syntax trees without running them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

_MODULES = {"random", "secrets", "uuid"}
_NAMES = {"os.urandom", "os.getrandom", "ssl.RAND_bytes"}
_EFFECTS, _EFFECT = "effects", "RandomBytes"
"""The effect by which a flow, which decides and never acts, asks its shell for random bytes."""


_WORDS = {*_MODULES, *(name.partition(".")[2] for name in _NAMES), _EFFECT}


def uses_of_randomness(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what each function draws from: ``module:function`` to sources such as os.urandom.

    A source that is drawn from twice stands there twice.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for module, source in sources.items():
        if not any(word in source for word in _WORDS):
            continue  # most modules: parsing them all would take a second
        tree = ast.parse(source, module)
        imported = dict(_imported(tree))
        for scope, name in _mentions(tree, ""):
            first, _, rest = name.partition(".")
            full = imported.get(first, "") + (f".{rest}" if rest else "")
            full = full.replace(f"{_EFFECTS}.{_EFFECT}", _EFFECT)
            if full in _NAMES or full.partition(".")[0] in _MODULES or full == _EFFECT:
                found[f"{module}:{scope}"].append(full)
    return dict(found)


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each imported name and its meaning; inside the package only the effect does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if node.level == 0:
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"
                elif alias.name in (_EFFECT, _EFFECTS):
                    yield alias.asname or alias.name, alias.name


def _mentions(node: ast.AST, scope: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted names that code reads, each with the function or class around it."""
    for child in ast.iter_child_nodes(node):
        name = _dotted(child)
        if name is not None:
            yield scope, name
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _mentions(child, f"{scope}.{child.name}" if scope else child.name)
        else:
            yield from _mentions(child, scope)


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else None
    return None

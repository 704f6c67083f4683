"""Counts the work that modules do, without a clock: steps of loops, calls, and bytes gone through.

A second copy of the package is loaded under another name, in which every operation whose cost
depends on the size of its operands says so first: slices, additions, searches, membership, and
what built-in functions read. So a buffer that is copied for each byte that arrives is seen, though
it takes a single line of Python. A copy may have an ``edit``, to prove that a fault would be seen.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sized
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import mcpclient

PACKAGE = Path(mcpclient.__file__).parent

_HOOK = "__work__"
_TEXTS = (str, bytes, bytearray)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_FOUND = {"find", "rfind", "index", "rindex"}
_CHEAP = {
    *("append", "add", "discard", "get", "setdefault", "keys", "values", "items", "popleft"),
    *("startswith", "endswith", "__contains__", "len", "isinstance", "type", "iter", "next", "id"),
    *("hasattr", "getattr", "setattr", "callable", "enumerate", "zip", "map", "range", "reversed"),
    *("issubclass", "cast", "memoryview", "super", "release", "set_result", "done"),
}

_numbers = itertools.count(1)


class WorkCounter(MetaPathFinder, Loader):
    """A copy of the package that counts. ``edit``: module, old text and new text of one fault."""

    def __init__(self, edit: tuple[str, str, str] | None = None) -> None:
        self.done = 0
        self._name = f"counted_{next(_numbers)}"
        self._edit = edit

    def __enter__(self) -> WorkCounter:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)
        for name in [each for each in sys.modules if each.partition(".")[0] == self._name]:
            del sys.modules[name]

    def module(self, name: str) -> Any:
        """Return a module of the copy by its name in the package, such as ``framing.sse``."""
        __import__(f"{self._name}.{name}")
        return sys.modules[f"{self._name}.{name}"]

    # What the import system asks.

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        first, *rest = fullname.split(".")
        if first != self._name:
            return None
        place = PACKAGE.joinpath(*rest)
        if place.is_dir():
            folders = [str(place)]
            return spec_from_file_location(
                fullname, place / "__init__.py", loader=self, submodule_search_locations=folders
            )
        return spec_from_file_location(fullname, place.with_suffix(".py"), loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        source = Path(str(module.__file__)).read_text("utf-8")
        if self._edit is not None and module.__name__ == f"{self._name}.{self._edit[0]}":
            _, old, new = self._edit
            assert source.count(old) == 1, f"{old!r} is not once in {self._edit[0]}"
            source = source.replace(old, new)
        tree = ast.fix_missing_locations(_Instrumenter().visit(ast.parse(source)))
        setattr(module, _HOOK, self)
        exec(compile(tree, str(module.__file__), "exec"), module.__dict__)

    # What the copy calls.

    def step(self) -> None:
        """A function or the body of a loop begins."""
        self.done += 1

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """A loop goes over these."""
        for value in values:
            self.done += 1
            yield value

    def made(self, value: Any) -> Any:
        """A slice, a sum or a display has this result."""
        if isinstance(value, (*_TEXTS, *_CONTAINERS)):
            self.done += len(value)
        return value

    def searched(self, value: Any) -> Any:
        """Something is looked for in this."""
        if isinstance(value, (*_TEXTS, list, tuple)):
            self.done += len(value)
        return value

    def added(self, value: Any, to: Any) -> Any:
        """``to += value``: what cannot change is copied whole."""
        if isinstance(to, (str, bytes, tuple)):
            self.done += len(to)
        return self.made(value)

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """A function is called."""
        result = function(*arguments, **named)
        self.done += 1 + self._cost(function, arguments, result)
        return result

    def _cost(self, function: Any, arguments: Collection[Any], result: Any) -> int:
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None) or ""
        if name in _CHEAP or str(module).partition(".")[0] == self._name:
            return 0
        if name in {"heappop", "heappush"}:
            return len(next(iter(arguments))).bit_length()
        subject = getattr(function, "__self__", None)
        if isinstance(subject, re.Pattern):
            return _cost_of_match(name, *arguments, result=result)
        if isinstance(subject, _TEXTS) and name in _FOUND:
            return _cost_of_find(subject, arguments, result)
        if isinstance(subject, (list, dict)) and name == "pop":
            return len(subject) if arguments and isinstance(subject, list) else 0
        sizes = [len(value) for value in arguments if isinstance(value, (*_TEXTS, *_CONTAINERS))]
        if name in {"extend", "write", "update", "feed"}:
            return sum(sizes)
        if isinstance(subject, (*_TEXTS, list, dict, set)):
            sizes.append(len(subject))
        if isinstance(result, Sized) and isinstance(result, (*_TEXTS, *_CONTAINERS)):
            sizes.append(len(result))
        return sum(sizes)


def _cost_of_match(name: str, *arguments: Any, result: Any) -> int:
    text, start = (arguments[1], 0) if name in {"sub", "subn"} else (*arguments, 0)[:2]
    if isinstance(result, re.Match):
        return int(result.end()) - int(start) + 1
    if name in {"match", "fullmatch"}:
        return 1  # how far it got is not known; mostly it is the first character
    return len(text) - int(start)


def _cost_of_find(text: Sized, arguments: Collection[Any], result: int) -> int:
    _, start, *_ = [*arguments, 0]
    return (result if result >= 0 else len(text)) - int(start)


class _Instrumenter(ast.NodeTransformer):
    """Changes the bodies of functions, not the code that runs once on import."""

    def __init__(self) -> None:
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        before, self._inside = self._inside, True
        body = [self.visit(statement) for statement in node.body]
        self._inside = before
        node.body = [ast.Expr(_hook("step")), *body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if self._inside:
            node.iter = _hook("each", node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if self._inside and not node.is_async:
            node.iter = _hook("each", node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if self._inside:
            node.body.insert(0, ast.Expr(_hook("step")))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not self._inside or (isinstance(node.func, ast.Name) and node.func.id == "super"):
            return node
        return ast.Call(
            ast.Attribute(ast.Name(_HOOK, ast.Load()), "call", ast.Load()),
            [node.func, *node.args],
            node.keywords,
        )

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _hook("made", node) if self._inside else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        is_slice = isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load)
        return _hook("made", node) if self._inside and is_slice else node

    def visit_List(self, node: ast.List) -> ast.AST:
        return self._display(node, node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self._display(node, node.elts)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        return self._display(node, node.elts)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        return self._display(node, node.keys)

    def _display(self, node: ast.expr, parts: Iterable[ast.expr | None]) -> ast.AST:
        unpacks = any(part is None or isinstance(part, ast.Starred) for part in parts)
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        self.generic_visit(node)
        return _hook("made", node) if self._inside and unpacks and is_read else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if self._inside:
            node.comparators = [
                _hook("searched", right) if isinstance(operator, (ast.In, ast.NotIn)) else right
                for operator, right in zip(node.ops, node.comparators)
            ]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node.value = self.visit(node.value)
        if self._inside and isinstance(node.target, (ast.Name, ast.Attribute)):
            target = ast.parse(ast.unparse(node.target), mode="eval").body
            node.value = _hook("added", node.value, target)
        return node


def _hook(name: str, *arguments: Any) -> ast.expr:
    method = ast.Attribute(ast.Name(_HOOK, ast.Load()), name, ast.Load())
    return ast.Call(method, list(arguments), [])


Task = Callable[[WorkCounter, int], Callable[[], object]]
"""Prepares a piece of work of some size; what it returns does it."""


def growth(task: Task, size: int, counter: WorkCounter) -> float:
    """Return how many times the work grows when the size becomes four times as large."""
    costs = []
    for each in (size, 4 * size):
        work = task(counter, each)
        before = counter.done
        work()
        costs.append(counter.done - before)
    return costs[1] / costs[0]

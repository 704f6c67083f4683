"""Write what type checkers know of the public names, and of the blocking classes.

    python -m tests.tools.sync_stub

The blocking classes are made at run time, which no type checker follows. So their signatures are
written down, taken from the sources of the asynchronous classes: ``async`` left out, defaults
shortened, everything else as it stands there. The stub of the root imports each public name.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Union

import mcpclient
from mcpclient import sync
from mcpclient.client.connection import client_options
from mcpclient.sync import handlers
from mcpclient.sync.client import Blocking, Owned

STUB = Path(sync.__file__).with_suffix(".pyi")
ROOT_STUB = Path(mcpclient.__file__).with_suffix(".pyi")
PACKAGE = "mcpclient"

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

# The options of the asynchronous client, but for what functions among them may be here.
OPTIONS = {name: f"_{name}" for name in ("ClientOptions", "CallOptions", "QueryOptions")}
AROUND = "Around | BlockingAround"

# Called with the arguments of a class, whose object they return.
CONNECTORS = {"connect": "Client", "connect_all": "Manager"}
OTHER_NAMES = {"ManagedClient": "Client", "Owned": "Client | Manager", **OPTIONS}
SPECIAL = {"__aenter__", "__aexit__", "__aiter__", "__anext__", "__getitem__", "__init__"}
RENAMED = {name: name.replace("__a", "__", 1) for name in SPECIAL if name.startswith("__a")}
HEADER = '''"""The blocking classes for type checkers. Written by tests/tools/sync_stub.py."""
'''
ROOT_HEADER = '"""The public names for type checkers. Written by tests/tools/sync_stub.py."""\n'


class SameName(ast.NodeTransformer):
    """Names the twin of a class that has another name."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(OTHER_NAMES.get(node.id, node.id), mode="eval").body

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if ast.unparse(node) in ("Sequence[Around]", "Sequence[hooks.Around]"):
            return ast.parse(f"Sequence[{AROUND}]", mode="eval").body
        return self.generic_visit(node)


class Stub:
    """Collects definitions, and the imports that they need."""

    def __init__(self) -> None:
        self.own_names = list(sync.__all__)
        self.imports: dict[str, set[str]] = {}
        self.modules: set[str] = set()
        self.definitions: list[ast.stmt] = []

    def text(self) -> str:
        self.definitions += map(self._options, OPTIONS)
        exported = {name: self._exported(name) for name in self.own_names}
        self.definitions.append(shared_by(*(exported[name] for name in CONNECTORS.values())))
        self.definitions += exported.values()
        lines = [HEADER, "from __future__ import annotations"]
        lines += [f"import {module}" for module in sorted(self.modules)]
        lines += [
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in sorted(self.imports.items())
        ]
        lines.append("__all__: list[str]")  # a stub exports all that it defines
        module = ast.Module(self.definitions, [])
        return formatted("\n".join([*lines, ast.unparse(ast.fix_missing_locations(module))]))

    def _exported(self, name: str) -> ast.stmt:
        value = getattr(sync, name)
        if inspect.isclass(value):
            return self._class(value)
        if name in CONNECTORS:
            return definition(f"{name}: type[{CONNECTORS[name]}]")
        original = inspect.unwrap(value)
        (found,) = functions_of(module_of(original), name)
        return self._signature(found, module_of(original))

    def _options(self, name: str) -> ast.stmt:
        shared = f"Shared{name}"
        self._import(shared, client_options)
        self._need(ast.parse(AROUND), handlers)
        self._import("Sequence", client_options)
        around = f"around: Sequence[{AROUND}]"
        return definition(f"class {OPTIONS[name]}({shared}, total=False):\n    {around}")

    def _class(self, made: type[Blocking]) -> ast.ClassDef:
        body: list[ast.stmt] = list(self._attributes(made))
        written: set[str] = set()
        for holder in (made, *([Owned] if issubclass(made, Owned) else ()), *made._class.__mro__):
            if holder is object or not holder.__module__.startswith(PACKAGE):
                continue
            is_asynchronous = not issubclass(holder, Blocking)
            for name in names_in(holder):
                public = RENAMED.get(name, name)
                if public in written or not self._belongs(made, name, public, is_asynchronous):
                    continue
                written.add(public)
                body += self._method(holder, name, public)
        if "__next__" in written and "__iter__" not in written:
            body.append(definition(f"def __iter__(self) -> {made.__name__}: ..."))
        return ast.ClassDef(made.__name__, [], [], body or [ast.Expr(ast.Constant(...))], [])

    def _belongs(self, made: type[Blocking], name: str, public: str, is_asynchronous: bool) -> bool:
        if name == "__init__":
            # Only what a caller makes has one; its arguments equal the asynchronous class's,
            # unless the blocking class says otherwise.
            is_own = "__init__" in vars(made) and not issubclass(made, Owned)
            return (issubclass(made, Owned) and is_asynchronous) or (is_own and not is_asynchronous)
        if name.startswith("_") and name not in SPECIAL:
            return False
        return hasattr(made, public)

    def _attributes(self, made: type[Blocking]) -> Iterator[ast.stmt]:
        for statement in class_node(made).body:
            if isinstance(statement, ast.AnnAssign):
                self._need(statement.annotation, module_of(made))
                yield statement

    def _method(self, holder: type, name: str, public: str) -> Iterator[ast.stmt]:
        for each in functions_of(holder, name):
            method = self._signature(each, module_of(holder))
            method.name = public
            if public == "__init__" and not issubclass(holder, Blocking):
                self._add_own_options(method)
            yield method

    def _add_own_options(self, method: ast.FunctionDef) -> None:
        """Add what only the blocking class takes."""
        (own,) = functions_of(Owned, "__init__")
        own = self._signature(own, module_of(Owned))
        method.args.kwonlyargs = [*method.args.kwonlyargs, *own.args.kwonlyargs]
        method.args.kw_defaults = [*method.args.kw_defaults, *own.args.kw_defaults]

    def _signature(self, function: Function, module: ModuleType) -> ast.FunctionDef:
        function = SameName().visit(with_options(deepcopy(function)))
        kept: list[ast.expr] = [
            decorator
            for decorator in function.decorator_list
            if isinstance(decorator, ast.Name) and decorator.id == "property"
        ]
        signature = ast.FunctionDef(
            function.name, short(function.args), [ast.Expr(ast.Constant(...))], kept
        )
        signature.returns = function.returns
        self._need(signature, module)
        return signature

    def _need(self, statement: ast.AST, module: ModuleType) -> None:
        """Import the names in a definition, from where its module has it."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id not in BUILTIN:
                self._import(node.id, module)

    def _import(self, name: str, module: ModuleType) -> None:
        if name in self.own_names or name in OPTIONS.values():
            return
        if name in AROUND.split(" | "):
            module = handlers
        origin, original = imports_of(module).get(name, (module.__name__, name))
        if name == "Unpack":  # `with_options` writes it, whatever its module imports
            origin = f"{PACKAGE}.typing_compat"
        if not original:
            self.modules.add(origin)
            return
        if origin == PACKAGE or origin.startswith(f"{PACKAGE}."):
            origin = "." + (origin[len(PACKAGE) :] or ".")
        shown = original if original == name else f"{original} as {name}"
        self.imports.setdefault(origin, set()).add(shown)


def shared_by(*classes: ast.stmt) -> ast.ClassDef:
    """Move the methods that are the same in all of these classes into a base of theirs."""
    found = [ast.fix_missing_locations(each) for each in classes if isinstance(each, ast.ClassDef)]
    first, *others = [{ast.unparse(method): method for method in each.body} for each in found]
    shared = {text: each for text, each in first.items() if all(text in other for other in others)}
    for each in found:
        each.body = [method for method in each.body if ast.unparse(method) not in shared]
        each.bases = [ast.Name("_Shared")]
    return ast.ClassDef("_Shared", [], [], list(shared.values()), [])


BUILTIN = set(dir(__import__("builtins")))


def with_options(function: Function) -> Function:
    """Name the options of a call or a request once, where a function has them all."""
    arguments = function.args
    given = dict(zip(arguments.kwonlyargs, arguments.kw_defaults))
    for name in OPTIONS:
        options = set(getattr(client_options, name).__annotations__)
        if options <= {each.arg for each in given}:
            own = {each: default for each, default in given.items() if each.arg not in options}
            arguments.kwonlyargs, arguments.kw_defaults = [*own], [*own.values()]
            annotation = ast.parse(f"Unpack[{name}]", mode="eval").body
            arguments.kwarg = ast.arg("options", annotation)
    return function


def short(arguments: ast.arguments) -> ast.arguments:
    """Keep only those defaults that are constants."""

    def shortened(default: ast.expr | None) -> ast.expr | None:
        is_constant = default is None or isinstance(default, ast.Constant)
        return default if is_constant else ast.Constant(...)

    return ast.arguments(
        arguments.posonlyargs,
        arguments.args,
        arguments.vararg,
        arguments.kwonlyargs,
        [shortened(each) for each in arguments.kw_defaults],
        arguments.kwarg,
        [shortened(each) or each for each in arguments.defaults],
    )


def definition(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def module_of(thing: Any) -> ModuleType:
    return sys.modules[thing.__module__]


@cache
def tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def class_node(holder: type) -> ast.ClassDef:
    (found,) = (
        node
        for node in tree_of(module_of(holder)).body
        if isinstance(node, ast.ClassDef) and node.name == holder.__name__
    )
    return found


def names_in(holder: type) -> list[str]:
    """The methods of a class, in the order of its source."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node.name for node in class_node(holder).body if isinstance(node, functions)]
    return list(dict.fromkeys(found))


def functions_of(holder: type | ModuleType, name: str) -> list[Function]:
    """The definitions of a function by name."""
    body = (tree_of(holder) if isinstance(holder, ModuleType) else class_node(holder)).body
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in body if isinstance(node, functions) and node.name == name]


@cache
def imports_of(module: ModuleType) -> dict[str, tuple[str, str]]:
    """The origins of a module's names: module and name there, "" for a module itself."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom):
            package = module.__package__ or ""
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                found[alias.asname or alias.name] = (origin, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (alias.name, "")
    return found


def formatted(text: str) -> str:
    """Lay it out as all sources are."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(STUB), "-"],
            input=text,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        text = done.stdout
    return text


def stub_text() -> str:
    """Return the expected content of the file."""
    for name in sync.__all__:
        import_module(getattr(sync, name).__module__)
    return Stub().text()


def root_text() -> str:
    """Return the expected content of the root's stub."""
    lines = ["from .version import __version__ as __version__"]
    for name, module in mcpclient._EXPORTS.items():
        home = "." if module == f".{name}" else module
        lines.append(f"from {home} import {name} as {name}")
    return formatted("\n".join([ROOT_HEADER, *lines, "_EXPORTS: dict[str, str]"]))


if __name__ == "__main__":
    ROOT_STUB.write_text(root_text(), "utf-8")
    STUB.write_text(stub_text(), "utf-8")

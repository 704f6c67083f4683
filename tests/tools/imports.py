"""The imports of a package's modules, read from their syntax trees without running them."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """One imported module. Names inside the package are relative to it; its root is ``""``."""

    importer: str
    line: int
    target: str
    internal: bool
    name: str = ""
    """What is taken from ``target``, when that is not a module itself."""
    in_function: bool = False
    for_types: bool = False
    """Whether it stands under ``if TYPE_CHECKING:`` and so is never executed."""

    def __str__(self) -> str:
        return f"{self.importer or '__init__'}:{self.line}: imports {self.target or 'the root'}"


def read_sources(package: Path) -> dict[str, str]:
    """Return the source text of every module below ``package``, by dotted name."""
    return {
        _module_name(path.relative_to(package)): path.read_text("utf-8")
        for path in sorted(package.rglob("*.py"))
    }


def imports_of(module: str, tree: ast.Module, modules: Collection[str]) -> list[Import]:
    """Return every import of a module of a package that consists of these ``modules``."""
    return list(_Reader(module, modules).read(tree))


def all_imports(sources: Mapping[str, str]) -> list[Import]:
    """Return every import of a package given as sources by dotted name."""
    return [
        found
        for module, source in sources.items()
        for found in imports_of(module, ast.parse(source, module), sources)
    ]


def standard_library() -> frozenset[str]:
    """Return the top-level names of the standard library, on every platform."""
    if sys.version_info >= (3, 10):
        return sys.stdlib_module_names
    folder = Path(sysconfig.get_path("stdlib"))
    files = [*folder.iterdir(), *(folder / "lib-dynload").iterdir()]
    windows_only = {"_winapi", "msvcrt", "winreg"}
    of_later_pythons = {"tomllib"}
    return frozenset({path.name.partition(".")[0] for path in files}).union(
        sys.builtin_module_names, windows_only, of_later_pythons
    )


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Reader:
    """Collects the imports of one module, remembering what surrounds each of them."""

    def __init__(self, module: str, modules: Collection[str]) -> None:
        self._module = module
        self._modules = modules
        self._is_package = any(other.startswith(f"{module}.") for other in modules) or not module

    def read(
        self, node: ast.AST, in_function: bool = False, for_types: bool = False
    ) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(
                        self._module,
                        child.lineno,
                        alias.name,
                        internal=False,
                        in_function=in_function,
                        for_types=for_types,
                    )
            elif isinstance(child, ast.ImportFrom):
                for target, internal, name in self._targets(child):
                    yield Import(
                        self._module, child.lineno, target, internal, name, in_function, for_types
                    )
            elif isinstance(child, ast.If) and _is_type_checking(child.test):
                for statement in child.body:
                    yield from self.read(ast.Module([statement], []), in_function, True)
                for statement in child.orelse:
                    yield from self.read(ast.Module([statement], []), in_function, for_types)
            elif not isinstance(child, ast.expr):  # It holds no statement.
                function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
                yield from self.read(child, in_function or function, for_types)

    def _targets(self, statement: ast.ImportFrom) -> Iterator[tuple[str, bool, str]]:
        """Yield (module, whether it is inside the package, name taken from it)."""
        for alias in statement.names:
            if not statement.level:
                yield statement.module or "", False, alias.name
                continue
            base = self._base(statement.level)
            parent = ".".join(filter(None, [base, statement.module]))
            submodule = ".".join(filter(None, [parent, alias.name]))
            if submodule in self._modules:
                yield submodule, True, ""
            else:
                yield parent, True, alias.name

    def _base(self, level: int) -> str:
        parts = self._module.split(".") if self._module else []
        up = level - 1 if self._is_package else level
        if up > len(parts):
            return "<outside the package>"
        return ".".join(parts[: len(parts) - up])


def _is_type_checking(test: ast.expr) -> bool:
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"

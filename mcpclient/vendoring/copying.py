"""``mcpclient vendor``: a copy of this package, or of parts of it, that a reviewer can verify."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata, resources
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import UsageError
from ..suggestions import there_is_no
from ..version import __version__
from .manifest import MANIFEST, PARTS_LIST, read_manifest, verify
from .parts import PARTS, TOGETHER, parts_of

_OWN = __name__.rpartition(".vendoring.")[0]
_LICENCE = "LICENSE"
_EMPTY = b'"""Left out of this copy."""\n'
_RELATIVE_NAME = re.compile(r"(\.[a-z]\w*)+")

# Modules with the types of options: checkers read them in every copy.
_TYPES = {"client.connection.client_options", "adapters.toolbox"}

When = Literal["always", "used", "never"]
"""When an import is carried out: with its module, at a use, or never: it is for type checkers."""


class Copied(NamedTuple):
    """The outcome of a copy: its parts, including those that others need, and its size."""

    parts: tuple[str, ...]
    files: int
    lines: int
    changed: tuple[str, ...] = ()


class _Modules:
    """The modules of this package with what each of them imports, read from their source."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = dict(_package_files(resources.files(_OWN)))
        self._names = {_module_name(path): path for path in self.files if path.endswith(".py")}
        self._imports: dict[str, list[tuple[When, str]]] = {}

    def closure(self, parts: Collection[str]) -> tuple[set[str], set[str]]:
        """Return the parts and those that they need, and the paths of their files."""
        chosen = {"stdio", *parts}
        while True:
            modules = self._reached(chosen)
            implied = {
                part
                for part in PARTS.keys() - chosen
                if PARTS[part].modules[0].rstrip(".") in modules
            }
            if not implied:
                return chosen, {path for path in self.files if self._is_included(path, modules)}
            chosen |= implied

    def _reached(self, parts: set[str]) -> set[str]:
        queue = ["", *(name for name, all_of in TOGETHER.items() if parts.issuperset(all_of))]
        for name in parts:
            for root in PARTS[name].modules:
                queue.append(root.rstrip("."))
                if root.endswith("."):
                    below = (module for module in self._names if module.startswith(root))
                    queue += [module for module in below if name in parts_of(module)]
        reached: set[str] = set()
        while queue:
            module = queue.pop()
            if module in reached or module not in self._names:
                continue
            reached.add(module)
            words = module.split(".")
            queue += [".".join(words[:length]) for length in range(len(words))]
            for when, name in self._imported(module):
                is_wanted = when == "used" and parts.issuperset(parts_of(name))
                if when == "always" or is_wanted:
                    queue.append(name)
        return reached

    def _imported(self, module: str) -> list[tuple[When, str]]:
        if module not in self._imports:
            path, name = self._names[module], f"{_OWN}.{module}".rstrip(".")
            package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
            found = list(_imports_in(ast.parse(self.files[path])))
            if f"{path}i" in self.files:  # what type checkers read in its place
                found += _imports_in(ast.parse(self.files[f"{path}i"]), "never")
            self._imports[module] = imports = []
            for when, written in found:
                imports.append((when, resolve_name(written, package)[len(_OWN) + 1 :]))
        return self._imports[module]

    def stand_ins(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return a module in place of each that a copy of ``paths`` imports and does not have."""
        there = {_module_name(path) for path in paths if path.endswith(".py")}
        missing: set[str] = set()
        readers = there
        while readers:
            imported = {name for module in readers for _, name in self._imported(module)}
            found = imported & self._names.keys() - there - missing
            missing |= found
            readers = found & _TYPES
        folders = {name[: dot.start()] for name in missing for dot in re.finditer(r"\.", name)}
        folders -= there
        made = {
            f"{name.replace('.', '/')}{'/__init__' * (name in folders)}.py": (
                _stand_in(name, name in folders) if name in missing else _EMPTY
            )
            for name in missing | folders
        }
        for name in missing & _TYPES:
            made[f"{self._names[name]}i"] = _types_of(self.files[self._names[name]])
        return made

    def lines(self, paths: Collection[str]) -> int:
        return sum(self.files[path].count(b"\n") for path in paths if path.endswith(".py"))

    def _is_included(self, path: str, modules: Collection[str]) -> bool:
        if path.endswith(".py"):
            return _module_name(path) in modules
        # Other files (a page, a chapter, a stub) come with the nearest module above them.
        folder = path.rpartition("/")[0].replace("/", ".")
        while folder and folder not in self._names:
            folder = folder.rpartition(".")[0]
        return folder in modules


def _imports_in(node: ast.AST, when: When = "always") -> Iterator[tuple[When, str]]:
    """Yield the modules of this package that code imports, as written: relatively."""
    inner: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        for statement in node.body:
            yield from _imports_in(statement, "never")
        inner = [*node.orelse]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        when = "used"
    elif isinstance(node, ast.ImportFrom) and node.level:
        package = "." * node.level + (node.module or "")
        yield when, package
        base = package if node.module is None else f"{package}."
        for alias in node.names:
            yield when, base + alias.name
    elif isinstance(node, ast.Constant) and _RELATIVE_NAME.fullmatch(str(node.value)):
        yield "never", str(node.value)  # in a table of modules that are imported by name
    for each in inner:
        yield from _imports_in(each, when)


def _module_name(path: str) -> str:
    name = path[: -len(".py")].replace("/", ".")
    return f".{name}".removesuffix(".__init__")[1:]


def chosen_parts(
    wanted: Sequence[str] | None = None, unwanted: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the parts that a user names; None: all. Raises `UsageError` for an unknown one."""
    for name in (*(wanted or ()), *unwanted):
        if name not in PARTS:
            raise UsageError(there_is_no("part", name, PARTS))
    chosen = PARTS if wanted is None else wanted
    return tuple(name for name in PARTS if name in chosen and name not in unwanted)


def part_sizes() -> dict[str, int]:
    """Return the lines of Python that each part adds to a copy of ``stdio`` alone."""
    modules = _Modules()
    base = modules.closure(())[1]
    sizes = {name: modules.lines(modules.closure((name,))[1] - base) for name in PARTS}
    return {**sizes, "stdio": modules.lines(base)}


def copy_package(
    destination: str | os.PathLike[str],
    parts: Collection[str] = tuple(PARTS),
    *,
    update: bool = False,
    force: bool = False,
) -> Copied:
    """Write a copy of this package, or of parts of it, into the folder ``destination``.

    The last part of its path is the name of the copy and may be any identifier. The copy holds the
    licence, a manifest with a digest of each file, and a list of the files in CycloneDX. Parts that
    the named parts need are included.

    ``update``: replace an earlier copy. Raises `UsageError` where there is a folder already, and,
    with ``update``, where it is not such a copy or differs from its manifest, unless ``force``.
    Raises `OSError` when it cannot be written; an earlier copy is then as it was.
    """
    target = Path(os.path.abspath(destination))
    if not target.name.isidentifier():
        raise UsageError(f"{target.name!r} cannot be imported: give a name such as mcpclient")
    before = _earlier(target, update=update, force=force)
    modules = _Modules()
    chosen, paths = modules.closure(parts)
    contents = {path: modules.files[path] for path in sorted(paths)}
    contents.update(modules.stand_ins(paths))
    contents[_LICENCE] = _licence()
    names = tuple(name for name in PARTS if name in chosen)
    contents[PARTS_LIST] = _parts_list(target.name, names, contents)
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    manifest = "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))
    _write(target, {**contents, MANIFEST: manifest.encode()})
    every = before.keys() | digests.keys() if update else ()
    changed = sorted(path for path in every if before.get(path) != digests.get(path))
    return Copied(names, len(digests), modules.lines(paths), tuple(changed))


def parts_of_copy(folder: str | os.PathLike[str]) -> tuple[str, tuple[str, ...]]:
    """Return the version of an earlier copy, and its parts. Raises `UsageError`."""
    path = Path(folder, PARTS_LIST)
    try:
        listed = json.loads(path.read_bytes())["metadata"]["component"]
        properties = {each["name"]: each["value"] for each in listed["properties"]}
        return str(listed["version"]), tuple(properties["mcpclient:parts"].split(","))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(f"{path} does not say of which parts the copy is made") from None


def changes_since(version: str) -> list[str]:
    """Return the changelog of the versions after ``version``; empty without a changelog."""
    place = getattr(resources.files(_OWN), "parent", None)
    try:
        text = place.joinpath("CHANGELOG.md").read_text("utf-8") if place is not None else ""
    except (OSError, KeyError):
        return []
    newer = text[text.find("\n## ") :].partition(f"\n## [{version}]")[0]
    return newer.strip().splitlines()


def _earlier(target: Path, *, update: bool, force: bool) -> dict[str, str]:
    if not os.path.lexists(target):
        return {}
    if not update:
        raise UsageError(f"{target} is there already: give --update to make it anew")
    try:
        expected, found = read_manifest(target), verify(target)
    except ValueError as error:
        raise UsageError(str(error)) from None
    # Bytecode is not copied, so none is lost.
    edited = [name for names in found for name in names if "__pycache__" not in name]
    if edited and not force:
        raise UsageError(f"{target} was changed ({edited[0]!a}): --force overwrites the changes")
    return expected


def _stand_in(module: str, is_package: bool) -> bytes:
    """Return a module that says which part is missing, and that type checkers accept."""
    dots = "." * (module.count(".") + 1 + is_package)
    needed = parts_of(module)
    text = f"this copy was made without {' and '.join(needed)}"
    return f'''"""Left out of this copy."""

from typing import Any

from {dots}errors import UsageError


def __getattr__(name: str) -> Any: ...


raise UsageError("{text}; make it again with --with {",".join(needed)}")
'''.encode()


def _types_of(source: bytes) -> bytes:
    """Return a stub of a module: its code without docstrings and the bodies of functions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [ast.Expr(ast.Constant(...))]
        elif isinstance(node, (ast.Module, ast.ClassDef)):
            node.body = [each for each in node.body if not _is_string(each)]
    return ast.unparse(tree).encode() + b"\n"


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _package_files(folder: Any, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda each: str(each.name)):
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            # The hook for PyInstaller names the original.
            if entry.name not in ("__pycache__", "__pyinstaller"):
                yield from _package_files(entry, f"{path}/")
        elif path not in (MANIFEST, PARTS_LIST, _LICENCE) and not path.endswith(".pyc"):
            yield path, entry.read_bytes()


def _licence() -> bytes:
    """Return the text of the licence: in a copy beside the modules, in a checkout above them."""
    package = resources.files(_OWN)
    for place in (package, getattr(package, "parent", package)):
        with suppress(OSError, KeyError):
            return place.joinpath(_LICENCE).read_bytes()
    with suppress(metadata.PackageNotFoundError, OSError):
        for file in metadata.files("mcpclient") or ():
            if file.name == _LICENCE:
                return Path(str(file.locate())).read_bytes()
    raise UsageError("the licence was not found beside the package: run it from a whole copy")


def _parts_list(name: str, parts: Sequence[str], contents: Mapping[str, bytes]) -> bytes:
    """Return a CycloneDX document that lists the files, the same for the same copy."""
    library = {
        "type": "library",
        "bom-ref": name,
        "name": "mcpclient",
        "version": __version__,
        "licenses": [{"license": {"id": "MIT"}}],
        "properties": [
            {"name": "mcpclient:package", "value": name},
            {"name": "mcpclient:parts", "value": ",".join(parts)},
        ],
    }
    files = [
        {
            "type": "file",
            "bom-ref": f"{name}/{path}",
            "name": path,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
        }
        for path, content in sorted(contents.items())
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": library},
        "components": files,
        "dependencies": [{"ref": name, "dependsOn": []}],
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def _write(target: Path, contents: Mapping[str, bytes]) -> None:
    """Write a folder beside ``target``, then rename it: an error leaves the old copy intact."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as name:
        made = Path(name, "new")
        for path, content in contents.items():
            file = made / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        old = Path(name, "old")
        if os.path.lexists(target):
            os.rename(target, old)
        try:
            os.rename(made, target)
        except OSError:
            if os.path.lexists(old):
                os.rename(old, target)
            raise

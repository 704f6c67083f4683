"""``python -m tests.tools.public_api``: write every public name and its signature to tests/api.txt.

`tests/test_api.py` compares the file with the library, so that a change of the public API is
deliberate: the file is renewed by this command, and the changelog says what changed.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

import mcpclient

API = Path(__file__).parents[1] / "api.txt"

_OWN = mcpclient.__name__
_UNSAID = {"BaseException", "Generic", "ReprEnum", "int"}  # some are in some Pythons only
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def main() -> None:
    """Write the file."""
    API.write_text(described(), "utf-8")


def described() -> str:
    """Return a block of lines for each public name, in alphabetical order."""
    lines: list[str] = []
    for name in vars(mcpclient)["__all__"]:
        value = getattr(mcpclient, name)
        if isinstance(value, ModuleType):
            lines.append(f"module {name}")
            lines += _of_module(name, value)
        else:
            lines += _of(name, value)
    return "\n".join(lines) + "\n"


def _of_module(prefix: str, module: ModuleType) -> Iterator[str]:
    for name in sorted(getattr(module, "__all__", ())):
        value = getattr(module, name)
        if getattr(mcpclient, name, None) is not value and not isinstance(value, ModuleType):
            yield from _of(f"{prefix}.{name}", value)


def _of(name: str, value: object) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _of_class(name, value)
    elif kinds := get_args(value):
        yield f"{name} = {' | '.join(getattr(kind, '__name__', repr(kind)) for kind in kinds)}"
    elif callable(value):
        kind = "async def" if inspect.iscoroutinefunction(value) else "def"
        yield f"{kind} {name}{_signature(value)}"
    elif isinstance(value, str):
        yield f"{name}: str"
    else:
        yield f"{name} = {_ADDRESS.sub('', str(value))}".replace("typing.", "")


def _of_class(name: str, value: type) -> Iterator[str]:
    bases = [base.__name__ for base in value.__mro__[1:] if base is not object]
    bases = [base for base in bases if not base.startswith("_") and base not in _UNSAID]
    yield f"class {name}({', '.join(bases)})"
    if issubclass(value, enum.Enum):
        yield from (f"    {member.name} = {member.value!r}" for member in value)
        return
    if not {"__init__", "__new__"}.isdisjoint(vars(value)) and not _is_protocol(value):
        yield f"    __init__{_signature(value)}"
    for attribute in sorted(_attributes(value)):
        found = inspect.getattr_static(value, attribute, None)
        if isinstance(found, property):
            returned = getattr(found.fget, "__annotations__", {}).get("return", "")
            yield f"    {attribute}: {returned}"
        elif isinstance(found, (classmethod, staticmethod)):
            yield f"    {type(found).__name__} {attribute}{_signature(found.__func__)}"
        elif inspect.isfunction(found):
            kind = "async def" if inspect.iscoroutinefunction(found) else "def"
            yield f"    {kind} {attribute}{_signature(found)}"
        else:
            yield f"    {attribute}: {_annotation(value, attribute)}"


def _is_protocol(value: type) -> bool:
    return bool(getattr(value, "_is_protocol", False))


def _attributes(value: type) -> set[str]:
    """Return the public attributes that the package's own classes define."""
    own = [base for base in value.__mro__ if f"{base.__module__}.".startswith(f"{_OWN}.")]
    names = {name for base in own for name in (*vars(base), *getattr(base, "__annotations__", ()))}
    kept = {"__aenter__", "__enter__", "__aiter__", "__iter__", "__call__", "__len__"}
    if value is mcpclient.Server:  # most of its methods serve the manager; its twin has the others
        names = _attributes(mcpclient.sync.Server)
    return {name for name in names if not name.startswith("_") or name in kept}


def _annotation(value: type, attribute: str) -> str:
    found = (
        getattr(base, "__annotations__", {}).get(attribute)
        for base in (*value.__mro__, mcpclient.sync.Server)
    )
    annotation = next((each for each in found if each is not None), "")
    return str(getattr(annotation, "__forward_arg__", annotation))


class _Plain:
    """An annotation that is shown without quotes."""

    def __init__(self, annotation: object) -> None:
        self._annotation = annotation

    def __repr__(self) -> str:
        plain = getattr(self._annotation, "__forward_arg__", self._annotation)
        return plain if isinstance(plain, str) else inspect.formatannotation(plain)


def _signature(value: Callable[..., object]) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    empty = inspect.Signature.empty
    parameters = [
        each if each.annotation is empty else each.replace(annotation=_Plain(each.annotation))
        for each in signature.parameters.values()
    ]
    returned = signature.return_annotation
    shown = signature.replace(
        parameters=parameters, return_annotation=empty if returned is empty else _Plain(returned)
    )
    return _ADDRESS.sub("", str(shown))


if __name__ == "__main__":
    main()

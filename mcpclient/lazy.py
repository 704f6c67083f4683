"""Modules that are imported on first use, since most programs never need them.

Its user imports such a module twice: for readers and type checkers, and for the interpreter::

    if TYPE_CHECKING:
        from ..protocol import skills
    else:
        skills = OnDemand("..protocol.skills", __name__)
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing takes 8 ms
if TYPE_CHECKING:
    from types import ModuleType


class OnDemand:
    """A stand-in for the module ``name``, which its first use imports.

    A relative name starts at the module called ``beside``. That is ``__name__``, because Python 3.9
    sets ``__package__`` of a module in a zip archive only after it has run.
    """

    def __init__(self, name: str, beside: str = "") -> None:
        self._where = name, beside.rpartition(".")[0] or None
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> object:
        if self._module is None:  # asking the import system costs four microseconds
            self._module = import_part(*self._where)
        return getattr(self._module, attribute)


def import_part(name: str, package: str | None) -> ModuleType:
    """Import a module; raise `UsageError` if a vendored copy was made without it."""
    try:
        return import_module(name, package)
    except ModuleNotFoundError as error:
        own = __name__.rpartition(".")[0]
        missing: Exception | None = import_module(f"{own}.vendoring.parts").missing_part(error, own)
        if missing is None:
            raise
        raise missing from error

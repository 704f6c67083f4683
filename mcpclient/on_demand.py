"""Modules that are imported when something in them is first used: most programs never do.

A module that is wanted only now and then stands twice among the imports of another, once for those
who read and check types, and once for the interpreter::

    if TYPE_CHECKING:
        from ..protocol import skills
    else:
        skills = OnDemand("..protocol.skills", __name__)
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["OnDemand"]


class OnDemand:
    """Stands for the module ``name``, which its first use imports.

    A relative name starts at the module called ``beside``. That is ``__name__``, because Python 3.9
    sets ``__package__`` of a module in a zip archive only after it has run.
    """

    def __init__(self, name: str, beside: str = "") -> None:
        self._where = name, beside.rpartition(".")[0] or None

    def __getattr__(self, attribute: str) -> object:
        return getattr(import_module(*self._where), attribute)

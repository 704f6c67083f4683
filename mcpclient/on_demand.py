"""Modules that are imported when something in them is first used: most programs never do.

A module that is wanted only now and then stands twice among the imports of another, once for those
who read and check types, and once for the interpreter::

    if TYPE_CHECKING:
        from ..protocol import skills
    else:
        skills = OnDemand("..protocol.skills", __package__)
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["OnDemand"]


class OnDemand:
    """Stands for the module ``name``, relative to ``package``, which its first use imports."""

    def __init__(self, name: str, package: str | None) -> None:
        self._where = name, package

    def __getattr__(self, attribute: str) -> object:
        return getattr(import_module(*self._where), attribute)

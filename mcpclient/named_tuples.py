"""`typing.NamedTuple` without types at run time, for the modules that a first call loads.

Until Python 3.13, `typing` compiles the annotation of every field, which nothing reads: an eighth
of the instructions that importing a client takes.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class _Declared(type):
        """Turns the declaration of a class with fields into a `collections.namedtuple`."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.pop("__annotations__")
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            made.__annotations__ = made.__new__.__annotations__ = fields
            for attribute, value in body.items():
                setattr(made, attribute, value)
            return made

    class NamedTuple(metaclass=_Declared):
        """The base of a class whose objects are tuples with named fields."""

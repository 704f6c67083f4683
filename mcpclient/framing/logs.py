"""The loggers of the package: strings in a record cannot forge a line, or hide."""

from __future__ import annotations

import logging
from typing import Any

from .escaping import escape_line


def logger_for(name: str) -> logging.Logger:
    """Return the logger of this name; strings and exceptions in its records are escaped."""
    logger = logging.getLogger(name)
    logger.addFilter(_escape_arguments)
    return logger


def _escape_arguments(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(map(_harmless, record.args))
    return True


def _harmless(argument: Any) -> Any:
    if isinstance(argument, (str, BaseException)):
        return _Harmless(escape_line(str(argument)))
    return argument


class _Harmless(str):
    """A string that is escaped already, so ``%r`` only adds the quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{self}'"

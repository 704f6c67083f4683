"""The loggers of the package: strings in a record cannot forge a line, or hide."""

from __future__ import annotations

import logging

from .escaping import escape_line


def logger_for(name: str) -> logging.Logger:
    """Return the logger of this name; strings and exceptions in its records are escaped."""
    logger = logging.getLogger(name)
    logger.addFilter(_escape_arguments)
    return logger


def _escape_arguments(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            _Harmless(escape_line(str(each))) if isinstance(each, (str, BaseException)) else each
            for each in record.args
        )
    return True


class _Harmless(str):
    """A string that is escaped already, so ``%r`` only adds the quotes."""

    def __repr__(self) -> str:
        return f"'{self}'"

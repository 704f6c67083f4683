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
            each if each is None or isinstance(each, (int, float)) else _Harmless(each)
            for each in record.args
        )
    return True


class _Harmless(str):
    """The string of a value, escaped. It does not keep the value: handlers keep records."""

    shown: str

    def __new__(cls, value: object) -> _Harmless:
        made = super().__new__(cls, escape_line(str(value)))
        made.shown = f"'{made}'" if isinstance(value, str) else escape_line(repr(value))
        return made

    def __repr__(self) -> str:
        return self.shown

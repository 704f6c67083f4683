"""The record of everything that must not happen, and its sources."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Of more than so many, the first tell what there is to know.
_SHOWN = 20


class Violations:
    """The violations of one run; each is printed as it comes, with the seed that led to it."""

    def __init__(self, seed: int) -> None:
        self.found: list[str] = []
        self._seed = seed

    def add(self, text: str) -> None:
        """Note a violation."""
        self.found.append(text)
        if len(self.found) <= _SHOWN:
            print(f"VIOLATION (seed {self._seed}): {text}", file=sys.stderr, flush=True)

    @contextmanager
    def watching(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Collect unhandled exceptions, warnings, and of errors in the log."""
        log = _ErrorLog(self)
        loggers = [logging.getLogger(name) for name in ("asyncio", "mcpclient")]
        unraisable = sys.unraisablehook
        loop.set_exception_handler(self._take_from_loop)
        sys.unraisablehook = self._take_unraisable
        for logger in loggers:
            logger.addHandler(log)
            # The servers talk rubbish on purpose, and the warnings about it are not looked at.
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._take_warning  # type: ignore[assignment]
            try:
                yield
            finally:
                loop.set_exception_handler(None)
                sys.unraisablehook = unraisable
                for logger in loggers:
                    logger.removeHandler(log)
                    logger.setLevel(logging.NOTSET)

    def _take_from_loop(self, loop: object, context: dict[str, Any]) -> None:
        self.add(f"the loop's exception handler was called: {context}{_came_by(context)}")

    def _take_unraisable(self, facts: Any) -> None:
        self.add(f"ignored exception in {facts.object!r}: {facts.exc_value!r}")

    def _take_warning(self, message: object, category: type[Warning], *where: object) -> None:
        self.add(f"{category.__name__}: {message} ({where[0]}:{where[1]})")


def _came_by(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return "\n" + "".join(traceback.format_tb(error.__traceback__)) if error is not None else ""


class _ErrorLog(logging.Handler):
    def __init__(self, violations: Violations) -> None:
        super().__init__(logging.ERROR)
        self._violations = violations

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter("%(name)s logged: %(message)s").format(record)
        self._violations.add(text)

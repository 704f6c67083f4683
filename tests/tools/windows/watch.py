"""A plugin of pytest: what a test hangs in is told, and the process is ended with it.

It stands in ``python -m pytest -p tests.tools.windows.watch``.
"""

from __future__ import annotations

import faulthandler
import os

# Seconds for one test. The slowest takes a tenth of that where nothing else runs.
LIMIT = 180.0

# Not what pytest puts in its place while tests run.
_STDERR = os.dup(2)


def pytest_runtest_logstart() -> None:
    """Begin to count, instead of for the test before."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=_STDERR)


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()

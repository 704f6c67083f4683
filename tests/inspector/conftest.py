"""The browser that the tests of the page share."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from tests.inspector.browser import Chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    browser = Chromium()
    yield browser
    browser.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of the page in the loop of its browser."""
    chromium = pyfuncitem.funcargs.get("chromium")
    if not isinstance(chromium, Chromium):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    chromium.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True

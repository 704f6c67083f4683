"""The browser that the tests of the page share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.inspector.browser import Chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    browser = Chromium()
    yield browser
    browser.close()

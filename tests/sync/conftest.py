"""Each test has a loop thread of its own, so that its leftovers are seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcpclient.sync.loop_thread import end_loop_thread


@pytest.fixture(autouse=True)
def _ends_the_loop_thread() -> Iterator[None]:
    end_loop_thread()  # of a test elsewhere
    yield
    end_loop_thread()

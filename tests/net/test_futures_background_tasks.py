"""Background tasks: F-API-20, F-LIFE-5 and F-LIFE-6."""

from __future__ import annotations

import asyncio
import logging

import pytest

from mcpclient.net.futures import BackgroundTasks


@pytest.mark.loses_an_exception
async def test_an_escaped_exception_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-20: no failure of a background task is lost, and none stops anything else."""

    async def fails() -> None:
        raise ValueError("background trouble")

    with caplog.at_level(logging.ERROR, "mcpclient.client"):
        await asyncio.wait({BackgroundTasks().start(fails())})
        await asyncio.sleep(0)
    assert "background trouble" in caplog.text

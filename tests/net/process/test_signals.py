"""Ctrl-C for a program that consists of one task."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mcpclient.net.process.signals import ctrl_c_calls

pytestmark = pytest.mark.needs_posix


def test_another_thread_hears_no_ctrl_c() -> None:
    """F-SHOW-5"""
    done: list[bool] = []

    async def main() -> None:
        with ctrl_c_calls(done.clear):
            done.append(True)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    assert done == [True]

"""Waiting in a thread that the end of a program does not wait for."""

from __future__ import annotations

from tests.support.subprocesses import run_python


def test_the_program_ends_without_it() -> None:
    """F-SHOW-5"""
    source = """
        import asyncio, threading
        from mcpclient.net.futures import call_in_thread

        async def main():
            waiting = asyncio.ensure_future(call_in_thread(threading.Event().wait))
            await asyncio.sleep(0)
            waiting.cancel()

        asyncio.run(main())
        print("over")
    """
    assert run_python(source) == "over\n"

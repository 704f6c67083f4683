"""Opening a page in the user's browser, if there is one."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import suppress

__all__ = ["has_browser", "open_browser"]

# Some ways to start a browser return only when it is closed; after this long it counts as open.
_MAX_START = 5.0


def has_browser(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser could show a window to the user.

    Without a display only browsers for the terminal would be found, which would take it over.
    """
    if environ.get("BROWSER"):
        return True
    if platform in ("win32", "darwin", "cygwin"):
        # In an SSH session the window would open on another machine than the user's.
        return not environ.get("SSH_CONNECTION")
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


async def open_browser(url: str) -> bool:
    """Show ``url`` in the user's browser. False: there is none, or it could not be started.

    Only http and https URLs are opened: anything else could start another program. Waits at most
    five seconds; safe to cancel.
    """
    if not url.startswith(("http://", "https://")) or not has_browser(os.environ):
        return False
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[bool] = loop.create_future()

    def settle(result: bool) -> None:
        if not opened.done():
            opened.set_result(result)

    def work() -> None:
        try:
            result = webbrowser.open(url)
        except Exception:  # whatever a broken desktop answers, the address can still be shown
            result = False
        with suppress(RuntimeError):  # the loop is closed: nobody waits for the news
            loop.call_soon_threadsafe(settle, result)

    # Some browsers block until their window is closed, so nobody may have to wait for the thread.
    threading.Thread(target=work, name="mcpclient-browser", daemon=True).start()
    await asyncio.wait({opened}, timeout=_MAX_START)
    return not opened.done() or opened.result()

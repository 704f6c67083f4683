"""Opening a page in the user's browser, if there is one."""

from __future__ import annotations

import asyncio
import html
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from ..files import make_private, make_private_folder
from ..futures import call_in_thread

# Some launchers return only when the browser is closed; after so many seconds it counts as open.
_MAX_START = 5.0


def has_browser(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser could show a window, and not take over the terminal."""
    if environ.get("BROWSER"):
        return True
    if platform in ("win32", "darwin", "cygwin"):
        # In an SSH session the window would open on another machine than the user's.
        return not environ.get("SSH_CONNECTION")
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


async def open_browser(url: str, *, through: Path | None = None) -> bool:
    """Show ``url`` in the user's browser. Returns False without one, or if it does not start.

    Only http and https URLs: anything else could start another program. Waits at most five seconds;
    safe to cancel. ``through``: a private file to create for a URL with a secret, which must not be
    in the arguments of a program: it redirects to the URL, and the caller removes it.
    """
    if not url.startswith(("http://", "https://")) or not has_browser(os.environ):
        return False
    if through is not None:
        try:
            _write_redirect(through, url)
        except OSError:
            return False
        url = through.as_uri()

    def work() -> bool:
        try:
            return webbrowser.open(url)
        except Exception:  # a broken desktop may raise anything; the address can still be shown
            return False

    # Some browsers block until their window is closed, so the thread is a daemon.
    opened = call_in_thread(work, "mcpclient-browser")
    await asyncio.wait({opened}, timeout=_MAX_START)
    return not opened.done() or opened.result()


def _write_redirect(path: Path, url: str) -> None:
    """Write a page that redirects to a URL. Raises `OSError`, also for a file that exists."""
    make_private_folder(path.parent)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        make_private(path)
        there = html.escape(url)
        file.write(
            f'<!doctype html><meta charset="utf-8"><title>mcpclient</title>'
            f'<meta http-equiv="refresh" content="0;url={there}"><a href="{there}">Open</a>'
        )

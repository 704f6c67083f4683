"""The needs that tests mark, and their treatment on a machine that lacks one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from mcpclient.errors import UsageError
from tests.support.subprocesses import TOP

try:
    from mcpclient.sandbox.confine import shortcoming
except UsageError:  # a copy without sandboxes

    def shortcoming(system: str) -> str:
        return "no sandbox"


INSTALLED_CHROMIUM = TOP / ".peers" / "node-chromium" / "chromium"


@dataclass(frozen=True)
class Need:
    """Something a test may ask for by a marker, and that a machine may lack."""

    marker: str
    reason: str
    is_met: Callable[[], bool]
    expected_in_ci: bool
    """Whether CI (the variable CI=true) has it for certain, so that lacking it there is a failure
    and not a skip. CI is a bare machine with Python: it has what the project installs for its
    tests, and nothing else."""


def chromium() -> str | None:
    """Return the path of a Chromium, if there is one: on PATH, or from `make browser`."""
    names = ("chromium", "chromium-browser", "google-chrome", str(INSTALLED_CHROMIUM))
    return next(filter(None, map(shutil.which, names)), None)


def can_confine() -> bool:
    """Whether this system can confine a server by itself."""
    return sys.platform == "linux" and not shortcoming("linux")


NEEDS = (
    Need(
        "needs_posix",
        "needs POSIX signals and process groups",
        lambda: os.name == "posix",
        expected_in_ci=False,  # a fact of the platform
    ),
    Need(
        "needs_windows",
        "needs Windows",
        lambda: os.name == "nt",
        expected_in_ci=False,  # a fact of the platform
    ),
    Need(
        "needs_landlock",
        "needs Linux 6.12 with Landlock and seccomp",
        can_confine,
        expected_in_ci=False,  # a fact of the kernel
    ),
    Need(
        "needs_browser",
        "needs Chromium: none is on PATH (make browser)",
        lambda: chromium() is not None,
        expected_in_ci=False,  # its registries may lack it, which .ci/run says aloud
    ),
    Need(
        "needs_websockets",
        "needs the websockets package of tests/requirements.txt",
        lambda: find_spec("websockets") is not None,
        expected_in_ci=True,
    ),
)

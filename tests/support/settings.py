"""The settings of this process that a test may change, and has to give back."""

from __future__ import annotations

import asyncio
import gc
import locale
import logging
import os
import signal
import socket
import sys
import threading
import time
from typing import cast

Settings = dict[str, object]

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD", "SIGPIPE", "SIGUSR1", "SIGALRM")
    if hasattr(signal, name)
]
_LOGGERS = ("", "mcpclient", "asyncio")
_PYTEST = "PYTEST_CURRENT_TEST"  # another one in each phase of a test


def settings_now() -> Settings:
    """Return the current settings, by names for messages."""
    made: Settings = {f"the handler of {each.name}": signal.getsignal(each) for each in _SIGNALS}
    # As Python keeps them: every test comes here twice, and decoding them is most of that time.
    made["variables"] = variables = dict(vars(os.environ)["_data"])
    for key in (_PYTEST, _PYTEST.encode()):
        variables.pop(key, None)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        made[f"the logger {name!r}"] = (logger.level, logger.propagate, logger.disabled)
    made["handlers of the library's logger"] = tuple(logging.getLogger("mcpclient").handlers)
    made["the working directory"] = os.getcwd()
    made["sys.path"] = tuple(sys.path)
    made["sys.argv"] = tuple(sys.argv)
    made["sys.dont_write_bytecode"] = sys.dont_write_bytecode
    made["excepthooks"] = (sys.excepthook, threading.excepthook)
    made["the trace and the profile function"] = (sys.gettrace(), sys.getprofile())
    made["limits of the interpreter"] = (sys.getrecursionlimit(), sys.getswitchinterval())
    made["hooks of asynchronous generators"] = tuple(sys.get_asyncgen_hooks())
    made["the garbage collector"] = (gc.isenabled(), gc.get_threshold(), gc.get_debug())
    made["the locale"] = locale.setlocale(locale.LC_ALL)
    made["the time zone"] = time.tzname
    made["the timeout of sockets"] = socket.getdefaulttimeout()
    made["the running event loop"] = asyncio._get_running_loop()
    made["standard streams"] = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    made["the umask"] = _umask()
    return made


def changed_since(before: Settings) -> list[str]:
    """Describe each setting that has changed."""
    now = settings_now()
    if now["variables"] != before["variables"]:
        before, now = _with_variables(before), _with_variables(now)
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    return [f"{key}: {now.get(key)!r}, which was {before.get(key)!r}" for key in changed]


def _with_variables(settings: Settings) -> Settings:
    """Return the settings with each variable as one of them."""
    variables = cast("dict[str, str]", settings["variables"])
    named = {f"variable {os.fsdecode(key)}": os.fsdecode(variables[key]) for key in variables}
    return {**settings, "variables": None, **named}


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

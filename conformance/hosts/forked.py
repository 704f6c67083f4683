"""The fate of clients in the workers of a program that makes them, and then forks.

The program is loaded by a host that this folder's own programs start, see `running`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from mcpclient import UsageError, sync

_SERVER = [sys.executable, os.environ.get("HOSTED_SERVER", "")]
IS_HOSTED = "HOSTED_SERVER" in os.environ
"""Whether this is the program in its host, and not the one that starts the host."""

_inherited = sync.connect(_SERVER) if IS_HOSTED else None
_reconnecting = sync.connect(_SERVER, after_fork="reconnect") if IS_HOSTED else None
_own: list[sync.Client] = []

REFUSAL = "make another in this process"


def inherited(word: str) -> str:
    """Return the result of a call with a client made before the fork; of an error, its text."""
    assert _inherited is not None
    try:
        return _inherited.call_tool("echo", {"message": word}).text
    except UsageError as error:
        return str(error)


def reconnecting(word: str) -> str:
    """Call with a client made before the fork that connects anew after it."""
    assert _reconnecting is not None
    return _reconnecting.call_tool("echo", {"message": word}).text


def own(word: str) -> str:
    """Call with a client of the worker's own, made for its first call."""
    if not _own:
        _own.append(sync.connect(_SERVER))
    return _own[0].call_tool("echo", {"message": word}).text


@contextmanager
def running(command: Sequence[str], **environment: str) -> Iterator[None]:
    """Run a host, a module of Python with its arguments, around the block.

    It has to end well, and without a traceback, when it is asked to.
    """
    variables: Mapping[str, str] = {"HOSTED_SERVER": sys.argv[1], **environment}
    host = subprocess.Popen(
        [sys.executable, "-m", *command],
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield
    finally:
        host.terminate()
        _, noise = host.communicate(timeout=60)
    assert host.returncode == 0, noise
    assert "Traceback" not in noise, noise

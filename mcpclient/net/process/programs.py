"""Programs other than servers: the file behind a name, and running one to its end."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...errors import UsageError
from ..shielded import call_in_thread
from .launch import launch
from .stopping import ProcessGroup, close_pipes, process_group

_MAX_CHAIN = 40


def links_of(program: str, search_path: str | None = None) -> list[str]:
    """Return the paths that lead from a program's name to its file, the file itself last.

    ``search_path``: where a bare name is looked for instead of the ``PATH`` of this process. Empty
    when there is no such program.
    """
    try:
        found = shutil.which(program, path=search_path)
        if found is None:
            return []
        paths = [found]
        while os.path.islink(paths[-1]) and len(paths) < _MAX_CHAIN:
            paths.append(os.path.join(os.path.dirname(paths[-1]), os.readlink(paths[-1])))
        paths.append(os.path.realpath(found))
    except (OSError, ValueError):  # a name that no file has, or a loop of links
        return []
    return list(dict.fromkeys(paths))


async def output_of(
    words: Sequence[str], env: Mapping[str, str], cwd: str | None, *, limit: int, seconds: float
) -> tuple[int, bytes]:
    """Run a program without input; return its exit code and its stdout.

    Its stderr is dropped. At most ``limit`` bytes and one more are returned: then,
    and after ``seconds``, it is killed with all that it started. Raises `UsageError` or
    `ConnectFailed` where it cannot be started, and `asyncio.TimeoutError`.
    """
    process = launch(words, env, cwd)
    group = process_group(process)
    try:
        reading = call_in_thread(lambda: _output(process, group, limit))
        return await asyncio.wait_for(reading, seconds)
    except BaseException:
        group.kill()  # so that the thread reaches the end of the output
        raise


def _output(process: subprocess.Popen[bytes], group: ProcessGroup, limit: int) -> tuple[int, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.close()
    # Its own descriptor: the number of one that is closed may be that of the next program's stdout.
    stderr = os.dup(process.stderr.fileno())
    threading.Thread(target=_drain, args=[stderr], daemon=True).start()
    found = b""
    while len(found) <= limit:
        chunk = process.stdout.read(limit + 1 - len(found))
        if not chunk:
            break
        found += chunk
    if len(found) > limit:
        group.kill()
    code = process.wait()
    group.kill()  # and any process it left running
    group.forget()
    close_pipes(process)
    return code, found


def _drain(descriptor: int) -> None:
    with suppress(OSError), open(descriptor, "rb", buffering=0) as stderr:
        while stderr.read(65536):
            pass


async def run_program(
    words: Sequence[str], content: bytes, *, keeps_output: bool = False
) -> tuple[int, bytes]:
    """Run a program with ``content`` on its stdin; return its exit code and its stdout.

    ``words``: the program and its arguments, exactly as it gets them, without a shell.
    With ``keeps_output`` it writes to our own stdout, and nothing is returned of that; its stderr
    is always ours. Raises `UsageError` when it cannot be started. Cancelling kills it.
    """
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - starting takes no time
            list(words), stdin=subprocess.PIPE, stdout=None if keeps_output else subprocess.PIPE
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot run {words[0]!r}: {reason}") from None
    try:
        written, _ = await call_in_thread(lambda: process.communicate(content))
    except BaseException:
        with suppress(OSError):
            process.kill()
        raise
    return process.returncode, written or b""

"""Finding a server's command and starting it, with one clear error when that fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...display import shown_words
from ...errors import CommandNotFound, ConnectFailed, ConnectKind, UsageError
from ...lazy import OnDemand
from ..paths import absolute_path
from .plan import SCRIPT_EXTENSIONS, windows_launch_plan

if TYPE_CHECKING:
    from ...sandbox import confine
    from ...sandbox.rights import Sandbox
else:
    confine = OnDemand("...sandbox.confine", __name__)

# How many bytes of a program are looked at for the interpreter it asks for (Linux takes 256).
_LONGEST_FIRST_LINE = 512


def launch(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
    sandbox: Sandbox | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``command`` with three pipes, in a session of its own, without a console window.

    ``sandbox``: the rights it gets; None: the user's. On Windows the process is suspended:
    `process_group` lets it run.

    Raises `UsageError` for a command that is not a sequence of strings, and for a relative ``cwd``
    where the current folder is gone; `CommandNotFound` when there is nothing to run; and
    `ConnectFailed` when the working directory is missing or the system refuses.
    """
    _check_command(command)
    directory = absolute_path(cwd) if cwd is not None else ""
    if directory and not os.path.isdir(directory):
        problem = "is not a folder" if os.path.exists(directory) else "does not exist"
        raise ConnectFailed(
            shown_words(command)[0],
            f"the working directory {directory!r} {problem}",
            kind=ConnectKind.WORKING_DIRECTORY,
        )
    arguments: str | list[str] = list(command)
    creation_flags = 0
    descriptors: tuple[int, ...] = ()
    if sys.platform == "win32":
        plan = windows_launch_plan(command, env, os.path.isfile, directory, is_folder=os.path.isdir)
        executable, arguments = plan.executable, plan.command_line
        creation_flags = plan.creation_flags
    else:
        executable = find_executable(command, env, directory)
    if sandbox is not None:
        confined = confine.confined(sandbox, command, env, directory, executable)
        arguments, env, descriptors = confined
        executable = arguments[0]
    try:
        return subprocess.Popen(
            arguments,
            executable=executable,
            creationflags=creation_flags,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=env,
            cwd=directory or None,
            pass_fds=descriptors,
        )
    except OSError as error:
        raise _explained(error, command, env, executable) from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def find_executable(command: Sequence[str], env: Mapping[str, str], directory: str) -> str:
    """Return the path of the POSIX program that ``command`` names.

    A bare name is looked up in the PATH of ``env``, the server's own environment. A name with a
    slash, and a relative entry of PATH, are relative to ``directory`` (empty: the current one).
    Raises `CommandNotFound` with the reason.
    """
    search_path = _search_path(env)
    entries = [""] if "/" in command[0] else search_path.split(os.pathsep)
    is_script = os.path.splitext(command[0])[1].lower() in SCRIPT_EXTENSIONS
    reason = "no such file" if is_script else "no such command"
    kind = ConnectKind.SCRIPT_MISSING if is_script else ConnectKind.COMMAND_MISSING
    for entry in entries:
        path = os.path.join(directory, entry, command[0])
        if os.path.isdir(path):
            reason, kind = f"{path} is a directory", ConnectKind.IS_A_DIRECTORY
        elif os.access(path, os.X_OK):
            return path
        elif os.path.exists(path):
            reason, kind = f"{path} is not executable", ConnectKind.NOT_EXECUTABLE
    raise CommandNotFound(command, reason, "" if is_script else search_path, kind)


def _check_command(command: Sequence[str]) -> None:
    if isinstance(command, (str, bytes)) or not command:
        raise UsageError('a command is a list such as ["npx", "some-server"], one item per word')
    for item in command:
        if not isinstance(item, str):
            raise UsageError(f"a command consists of strings, not {type(item).__name__}")
        if "\0" in item:
            raise UsageError("a command cannot hold a NUL character")
    if not command[0]:
        raise UsageError("the first item of a command names the program; it is empty")


def _search_path(env: Mapping[str, str]) -> str:
    return env.get("PATH", os.defpath)


_REASONS = {
    errno.ENOENT: (
        ConnectKind.INTERPRETER_MISSING,
        "the interpreter or loader it asks for does not exist",
    ),
    errno.EACCES: (ConnectKind.NOT_EXECUTABLE, "the system does not permit executing it"),
    errno.ENOEXEC: (
        ConnectKind.NO_INTERPRETER,
        "it is not a program, and its first line names no interpreter",
    ),
}


def _explained(
    error: OSError, command: Sequence[str], env: Mapping[str, str], executable: str
) -> ConnectFailed:
    if error.errno in _REASONS:
        kind, reason = _REASONS[error.errno]
        if kind == ConnectKind.INTERPRETER_MISSING and _first_line(executable).endswith(b"\r\n"):
            kind = ConnectKind.CRLF_INTERPRETER
            reason = "its first line ends in CRLF, so that no interpreter has its name"
        return CommandNotFound(command, reason, _search_path(env), kind)
    return ConnectFailed(shown_words(command)[0], error.strerror or str(error), [error])


def _first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.readline(_LONGEST_FIRST_LINE)
    except OSError:
        return b""

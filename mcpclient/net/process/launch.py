"""Starting a server: its environment, its command, and one clear error when that fails.

The decisions are pure: the parent's environment, and the function that says whether a file exists,
are arguments. So all of them, those for Windows included, are tested on every platform.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ...display import shown_words
from ...errors import CommandNotFound, ConnectFailed, ConnectKind, UsageError
from ..paths import absolute_path, unfit_for_system

if TYPE_CHECKING:
    from ...sandbox.rights import Sandbox

# Bytes of a program that are searched for its interpreter (Linux reads 256).
_LONGEST_FIRST_LINE = 512


def launch(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
    sandbox: Sandbox | None = None,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start ``command`` with three pipes, in a session of its own, without a console window.

    ``sandbox``: the rights it gets; None: the user's. ``stderr``: as of `subprocess.Popen`. On
    Windows the process is suspended: `process_group` lets it run.

    Raises `UsageError` for a command that is not a sequence of strings, and for a relative ``cwd``
    where the current folder is gone; `CommandNotFound` when there is nothing to run; and
    `ConnectFailed` when the working directory is missing or the system refuses.
    """
    _check_command(command)
    directory = absolute_path(cwd) if cwd is not None else ""
    if directory and not (os.path.isdir(directory) and os.access(directory, os.X_OK)):
        problem = "is not a folder" if os.path.exists(directory) else "does not exist"
        problem = "may not be entered by this user" if os.path.isdir(directory) else problem
        raise ConnectFailed(
            shown_words(command)[0],
            f"the working directory {directory!r} {problem}",
            kind=ConnectKind.WORKING_DIRECTORY,
        )
    arguments: str | list[str] = list(command)
    creation_flags = 0
    descriptors: tuple[int, ...] = ()
    if sys.platform == "win32":
        plan = windows_launch_plan(command, env, os.path.isfile, directory)
        executable, arguments = plan.executable, plan.command_line
        creation_flags = plan.creation_flags
    else:
        executable = find_executable(command, env, directory)
    if sandbox is not None:
        from ...sandbox.confine import confined

        restricted = confined(sandbox, command, env, directory, executable)
        arguments, env, descriptors = restricted
        executable = arguments[0]
    try:
        return subprocess.Popen(
            arguments,
            executable=executable,
            creationflags=creation_flags,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
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
    search_path = env.get("PATH", os.defpath)
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
    reason = unfit_for_system("".join(command))
    if reason:
        raise UsageError(f"a command cannot hold {reason}")
    if not command[0]:
        raise UsageError("the first item of a command names the program; it is empty")


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
        first_line = b""
        with suppress(OSError), open(executable, "rb") as file:
            first_line = file.readline(_LONGEST_FIRST_LINE)
        if kind == ConnectKind.INTERPRETER_MISSING and first_line.endswith(b"\r\n"):
            kind = ConnectKind.CRLF_INTERPRETER
            reason = "its first line ends in CRLF, so that no interpreter has its name"
        return CommandNotFound(command, reason, env.get("PATH", os.defpath), kind)
    return ConnectFailed(shown_words(command)[0], error.strerror or str(error), [error])


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Variables for the user, the terminal and the paths (as in the reference SDKs), and those for the
# language of its output, its time zone and shared caches.
_POSIX = _names(
    "HOME LOGNAME PATH SHELL TERM TMPDIR USER XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME "
    "XDG_STATE_HOME"
)
# Without SYSTEMROOT no socket opens, without PATHEXT and COMSPEC no script runs on Windows.
_WINDOWS = _names(
    "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE "
    "PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP TMP "
    "USERNAME USERPROFILE WINDIR"
)
# Behind a company's proxy, npx and uvx need the company's certificate authority.
_EVERYWHERE = _names(
    "CURL_CA_BUNDLE LANG LANGUAGE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE SSL_CERT_DIR "
    "SSL_CERT_FILE TZ"
)
_PROXIES = frozenset({"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"})

# It is resumed only inside its job object, so that none of its descendants can be outside.
_CREATE_SUSPENDED = 0x00000004
_CREATE_NEW_PROCESS_GROUP = 0x00000200
CREATE_NO_WINDOW = 0x08000000

_DEFAULT_EXTENSIONS = ".COM;.EXE;.BAT;.CMD"
_PROGRAM_EXTENSIONS = (".com", ".exe")
_BATCH_EXTENSIONS = (".bat", ".cmd")

# Endings of scripts, which name a file to run and not a command to look up in PATH.
INTERPRETERS = {".py": sys.executable, ".js": "node", ".mjs": "node", ".cjs": "node"}
"""The program that runs a script, by the ending of the script's name."""

SCRIPT_ENDINGS = tuple(INTERPRETERS)
"""The endings of scripts that are run as they are."""

SCRIPT_EXTENSIONS = (".py", ".js", ".mjs", ".cjs", ".ts")


def child_environment(
    env: Mapping[str, str] | None, inherit_env: str, parent: Mapping[str, str], *, windows: bool
) -> dict[str, str]:
    """Return the server's environment: ``env`` on top of variables inherited from ``parent``.

    ``inherit_env`` is ``"safe"`` (an allow-list: user, paths, locale, certificates, and proxies
    whose URL holds no password), ``"all"`` or ``"none"``. In safe mode interpreter variables such
    as PYTHONPATH never pass, and neither do exported shell functions (values that start with
    ``()``). On Windows names are compared without regard to case.

    Raises `UsageError` for another ``inherit_env``, for an ``env`` that is not a mapping, and for a
    name or value that no environment can hold; the text names the variable and never its value.
    """
    if inherit_env not in ("safe", "all", "none"):
        raise UsageError(f'inherit_env must be "safe", "all" or "none", not {inherit_env!r}')
    if inherit_env == "safe":
        names = _EVERYWHERE | (_WINDOWS if windows else _POSIX)
        environment = {}
        for name in parent:
            key = name.upper() if windows else name
            is_allowed = key in names or key.startswith("LC_")
            if is_allowed or name.upper() in _PROXIES:
                value = parent[name]
                if not value.startswith("()") and (is_allowed or "@" not in value):
                    environment[name] = value
    else:
        environment = dict(parent) if inherit_env == "all" else {}
    if env is not None and not isinstance(env, Mapping):
        raise UsageError(f"env must map names to values, and not be a {type(env).__name__}")
    for name, value in (env or {}).items():
        if not isinstance(name, str) or not name or "=" in name or unfit_for_system(name):
            raise UsageError(f"{name!a} is not a name for an environment variable")
        if not isinstance(value, str):
            kind = type(value).__name__
            raise UsageError(f"environment variable {name} must be a string, not {kind}")
        reason = unfit_for_system(value)
        if reason:
            raise UsageError(f"environment variable {name} holds {reason}")
        if windows:
            for other in [held for held in environment if held.upper() == name.upper()]:
                del environment[other]
        environment[name] = value
    return environment


class LaunchPlan(NamedTuple):
    """Arguments for CreateProcess: the program's full path, its command line, and flags."""

    executable: str
    command_line: str
    creation_flags: int = CREATE_NO_WINDOW | _CREATE_NEW_PROCESS_GROUP | _CREATE_SUSPENDED


def windows_launch_plan(
    command: Sequence[str], env: Mapping[str, str], exists: Callable[[str], bool], cwd: str = ""
) -> LaunchPlan:
    """Decide how Windows starts ``command`` with the environment ``env``.

    A bare name is searched over PATH with the extensions of PATHEXT, never in the current
    directory; a name with a directory is taken relative to ``cwd``. ``exists`` says whether a
    path is a file. Batch files, which CreateProcess would hand to cmd.exe with arguments it does
    not protect (CVE-2024-24576), go through cmd.exe with every argument quoted for it.

    Raises `CommandNotFound`, and `UsageError` for an argument that no batch file can be given.
    """
    path = _find_on_windows(command, env, exists, cwd)
    if _extension(path) in _PROGRAM_EXTENSIONS:
        return LaunchPlan(path, subprocess.list2cmdline([path, *command[1:]]))
    root = _variable(env, "SYSTEMROOT") or "C:\\Windows"
    shell = _variable(env, "COMSPEC") or f"{root}\\System32\\cmd.exe"
    inner = " ".join(map(_batch_argument, [path, *command[1:]]))
    # /d: no AutoRun commands; /e:on: what hides a percent sign needs extensions; /v:off: "!" is
    # a plain character; /s: exactly the outer pair of quotes is taken off, whatever is inside.
    return LaunchPlan(shell, f'"{shell}" /d /e:on /v:off /s /c "{inner}"')


def _find_on_windows(
    command: Sequence[str], env: Mapping[str, str], exists: Callable[[str], bool], cwd: str
) -> str:
    search_path = _variable(env, "PATH")
    runnable = _PROGRAM_EXTENSIONS + _BATCH_EXTENSIONS
    known = (_variable(env, "PATHEXT") or _DEFAULT_EXTENSIONS).lower().split(";")
    extensions = [extension for extension in known if extension in runnable]
    bases = list(_bases(command[0], search_path, cwd))
    for base in bases:
        # A file without a program's extension is never started: npm puts a shell script "npx"
        # beside the "npx.cmd" that is meant for Windows.
        for extension in ["", *extensions] if _extension(base) in runnable else extensions:
            if exists(base + extension):
                return base + extension
    if any(map(exists, bases)):
        reason = "Windows cannot run this file by itself"
        raise CommandNotFound(command, reason, search_path, ConnectKind.NO_INTERPRETER)
    if _extension(command[0]) in SCRIPT_EXTENSIONS:
        raise CommandNotFound(command, "no such file", "", ConnectKind.SCRIPT_MISSING)
    raise CommandNotFound(command, "no such command", search_path, ConnectKind.COMMAND_MISSING)


def _bases(name: str, search_path: str, cwd: str) -> Iterator[str]:
    import ntpath

    if ntpath.basename(name) != name or ntpath.splitdrive(name)[0]:
        yield ntpath.join(cwd, name)
        return
    for entry in search_path.split(";"):
        directory = entry.strip().strip('"')
        if directory:
            yield ntpath.join(cwd, directory, name)


def _extension(path: str) -> str:
    import ntpath

    # Windows drops trailing dots and spaces from a file name, so "x.bat. ." is a batch file too.
    return ntpath.splitext(path.rstrip(". "))[1].lower()


def _variable(env: Mapping[str, str], name: str) -> str:
    for key, value in env.items():
        if key.upper() == name:
            return value
    return ""


def _batch_argument(argument: str) -> str:
    """Quote for both readers of a batch file's arguments: cmd.exe and the C runtime behind it.

    Within quotes cmd.exe leaves ``& | < > ^ ( )`` alone. A quote is doubled: cmd.exe then stays
    within quotes, and the C runtime reads one. A percent sign is followed by ``%cd:~,%``, which
    expands to nothing, so that no ``%NAME%`` is ever seen.
    """
    if any(character in argument for character in "\r\n"):
        raise UsageError("an argument of a Windows batch file cannot hold a line break")
    quoted = ""
    backslashes = 0
    for character in argument:
        if character == '"':
            quoted += "\\" * backslashes + '""'
        elif character == "%":
            quoted += "%%cd:~,%"
        else:
            quoted += character
        backslashes = backslashes + 1 if character == "\\" else 0
    return '"' + quoted + "\\" * backslashes + '"'

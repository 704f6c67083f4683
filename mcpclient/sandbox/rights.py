"""The rights of a confined server: those granted, and those its command needs to start at all."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"([0-9]+) ?([KMG]?)(?:i?B)?")

DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
"""Devices that every program may use."""

SYSTEM_FOLDERS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime"),
    *("/proc/version", "/proc/filesystems", "/proc/sys", "/sys/devices/system/cpu"),
    "/sys/fs/cgroup",
    *(
        f"/etc/{name}"
        for name in (
            *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
            *("debian_version", "fonts", "gai.conf", "gitconfig", "group", "host.conf", "hostname"),
            *("hosts", "inputrc", "java*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
            *("locale.alias", "locale.conf", "localtime", "magic", "mime.types", "nsswitch.conf"),
            *("os-release", "passwd", "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem"),
            *("pki/tls/openssl.cnf", "protocols", "python3*", "resolv.conf", "services", "shells"),
            *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "terminfo", "timezone"),
        )
    ),
)
"""Patterns of the files that system programs read, without keys and passwords."""

# Variables of the server's environment that name files with certificates.
_CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "NODE_EXTRA_CA_CERTS",
)
_SCRIPT = re.compile(r"\.(?:py|pyz|js|mjs|cjs|ts|mts|jar|rb|php|pl|sh|wasm)\Z")
# Where an interpreter's prefix has its own files; share/ may hold the user's data and keys.
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")
_MAX_SHEBANGS = 3

# Folders that package runners write to; they need the network, too, for downloads.
_RUNNERS = {
    **dict.fromkeys(("npx", "npm"), ("~/.npm", "~/.cache/node-gyp")),
    **dict.fromkeys(("uvx", "uv"), ("~/.cache/uv", "~/.local/share/uv")),
    **dict.fromkeys(("pnpm", "pnpx"), ("~/.local/share/pnpm", "~/.cache/pnpm")),
    **dict.fromkeys(("bunx", "bun"), ("~/.bun",)),
    **dict.fromkeys(("pipx",), ("~/.local/share/pipx", "~/.cache/pipx", "~/.local/pipx")),
    **dict.fromkeys(("deno",), ("~/.cache/deno",)),
}


@dataclass(frozen=True, repr=False)
class Sandbox:
    """The rights of a server process; all others are denied by the operating system.

    ``Sandbox()`` grants the least: the system's folders, the interpreter's and the program's own
    can be read, a private temporary folder can be written, and there is no network, no device, no
    signal to other programs, no new privilege. It ends with the client, also after SIGKILL.

    - ``read``, ``write``: more files and folders; ``~`` is the user's home, and a relative path
      begins in the server's working directory. What can be written can be read as well. They must
      exist.
    - ``network``: True allows Internet sockets, to everywhere. Default: False. Unix sockets, such
      as Docker's or an SSH agent's, are never allowed.
    - ``memory``: bytes that the server and all it starts may use, as a number or as ``"512M"`` or
      ``"2G"``; checked five times a second. Default: no limit.
    - ``processes``: the most at the same time, without their threads. A server that exceeds this
      or ``memory`` is ended. Default: no limit.
    - ``seconds``: the time after which it is ended. Default: never.
    - ``best_effort``: True starts the server even if the system cannot deny all of this, and
      warns of what it cannot; otherwise connecting raises `SandboxUnavailable`. Default: False.

    A file can have 1 GiB at most. Sandboxes can be combined: ``GIT | Sandbox(write=["~/notes"])``.
    Raises `UsageError` for invalid values.
    """

    read: Sequence[str | os.PathLike[str]] = ()
    write: Sequence[str | os.PathLike[str]] = ()
    network: bool = False
    memory: int | str | None = None
    processes: int | None = None
    seconds: float | None = None
    best_effort: bool = False

    def __post_init__(self) -> None:
        for name in ("network", "best_effort"):
            if not isinstance(value := getattr(self, name), bool):
                raise UsageError(f"{name} of a sandbox must be true or false, not {value!r:.100}")
        set_to = partial(object.__setattr__, self)
        set_to("read", _paths(self.read, "read"))
        set_to("write", _paths(self.write, "write"))
        set_to("memory", _size(self.memory))
        _check_positive(self.processes, "processes", int)
        _check_positive(self.seconds, "seconds", (int, float))

    @classmethod
    def of(cls, value: object) -> Sandbox:
        """Return the sandbox that a configuration file states.

        ``value``: True or ``"required"`` for the default one, or a mapping with the arguments of
        `Sandbox` and ``use``, a list of names from `NAMED_SANDBOXES`; ``filesystem`` and
        ``network`` may be as VS Code has them. Raises `UsageError` for anything else.
        """
        if isinstance(value, cls):
            return value
        if value is True or value == "required":
            return cls()
        if not isinstance(value, Mapping):
            raise UsageError(f"a sandbox must be an object or true, not {value!r:.100}")
        options = _from_vs_code({key: item for key, item in value.items() if key != "enabled"})
        named = options.pop("use", ())
        known = ("read", "write", "network", "memory", "processes", "seconds")
        unknown = [str(name) for name in options if name not in known]
        if unknown:
            raise UsageError(f"a sandbox has no field {unknown[0]!r:.100}")
        if isinstance(named, str) or not isinstance(named, Sequence):
            raise UsageError("use of a sandbox must be a list of names")
        sandbox = cls(**options)
        for name in named:
            if name not in NAMED_SANDBOXES:
                raise UsageError(f"there is no sandbox named {name!r:.100}")
            sandbox = NAMED_SANDBOXES[name] | sandbox
        return sandbox

    @classmethod
    def for_command(cls, command: Sequence[str]) -> Sandbox:
        """Return the rights that a server is likely to need, by its command; nothing is started.

        Package runners such as npx and uvx get their caches and the network: they download the
        server at its first start.
        """
        program = os.path.basename(command[0]).lower().partition(".")[0] if command else ""
        folders = [path for path in _RUNNERS.get(program, ()) if _is_folder(path)]
        is_remote = program in _RUNNERS or any("server-fetch" in word for word in command)
        sandbox = cls(write=folders, network=is_remote)
        if any("server-git" in word or "server-filesystem" in word for word in command):
            sandbox |= GIT if any("git" in word for word in command) else FILESYSTEM
            sandbox |= cls(write=[word for word in command[1:] if _is_folder(word)])
        return sandbox

    def __or__(self, other: Sandbox) -> Sandbox:
        if not isinstance(other, Sandbox):
            return NotImplemented
        added: dict[str, Any] = {}
        for name, one in vars(self).items():
            two = getattr(other, name)
            if isinstance(one, tuple):
                added[name] = tuple(dict.fromkeys((*one, *two)))
            else:
                added[name] = max((each for each in (one, two) if each is not None), default=None)
        return Sandbox(**added)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value)
        return f"Sandbox({given})"


def sandbox_in(restrictions: Mapping[str, Any]) -> Sandbox | None:
    """Return the sandbox in the restrictions of an entry (see `restrictions_in`), or None.

    VS Code switches it on with ``sandboxEnabled``. Raises `UsageError` for one that cannot be
    carried out.
    """
    value = restrictions.get("sandbox", restrictions.get("sandboxEnabled"))
    return None if value is None else Sandbox.of(value)


def _from_vs_code(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Sandbox` for ``filesystem`` and ``network`` as VS Code has them."""
    files, network = options.pop("filesystem", {}), options.get("network")
    for group in (files, network if isinstance(network, Mapping) else {}):
        if not isinstance(group, Mapping):
            raise UsageError(f"filesystem of a sandbox must be an object, not {group!r:.100}")
        for name, value in group.items():
            if name not in ("allowRead", "allowWrite", "deniedDomains") and value:
                raise UsageError(f"{name} of a sandbox cannot be carried out; grant less instead")
    if isinstance(network, Mapping):
        options["network"] = False
    for name, kind in (("read", "allowRead"), ("write", "allowWrite")):
        if files.get(kind):
            options[name] = (*_paths(options.get(name, ()), name), *_paths(files[kind], kind))
    return options


def program_files(
    command: Sequence[str], env: Mapping[str, str], directory: str, executable: str
) -> list[str]:
    """Return the files and folders that a command needs to be read, so that it starts at all.

    ``executable``: the path of its program. These are the interpreter's own folders, those of the
    program or script, and the certificates that its environment names; never the home folder.
    """
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    found = [env[name] for name in _CERTIFICATES if env.get(name)]
    programs = [executable]
    for _ in range(_MAX_SHEBANGS):
        interpreter = _interpreter_of(programs[-1], env)
        if interpreter is None:
            break
        programs.append(interpreter)
    for program in programs:
        for path in _links_of(program):
            found += _prefix_files(path, home)
    for word in command[1:]:
        path = os.path.join(directory, word)
        if _SCRIPT.search(word) and os.path.isfile(path):
            found += _folder_of(os.path.realpath(path), home)
    if "-m" in command[1:-1]:
        module = command[command.index("-m") + 1].partition(".")[0]
        found += [f"{directory}/{module}", f"{directory}/{module}.py"]
    return [path for path in dict.fromkeys(found) if os.path.exists(path)]


def system_files() -> Iterator[str]:
    """Yield the files and folders of `SYSTEM_FOLDERS` that are on this machine."""
    for pattern in SYSTEM_FOLDERS:
        for path in glob.glob(pattern):
            yield os.path.realpath(path)  # /etc/resolv.conf leads to /run on many systems


def _interpreter_of(program: str, env: Mapping[str, str]) -> str | None:
    first = _start_of(program).partition("\n")[0]
    if not first.startswith("#!"):
        return None
    words = first[2:].split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return shutil.which(words[0], path=env.get("PATH", os.defpath)) if words else None


def _start_of(path: str) -> str:
    with suppress(OSError):
        if os.path.isfile(path):  # opening a pipe would block
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(4096)
    return ""


def _links_of(program: str) -> Iterator[str]:
    for _ in range(40):
        yield program
        if not os.path.islink(program):
            break
        program = os.path.join(os.path.dirname(program), os.readlink(program))
    yield os.path.realpath(program)


def _prefix_files(program: str, home: str) -> list[str]:
    folder = os.path.dirname(os.path.abspath(program))
    if os.path.basename(folder) == "shims":  # of pyenv, asdf and the like, which find the program
        return [os.path.dirname(folder)]
    if os.path.basename(folder) not in ("bin", "sbin"):
        return _folder_of(program, home)
    prefix = os.path.dirname(folder)
    found = [os.path.join(prefix, part) for part in _PREFIX_PARTS]
    base = re.search(r"(?m)^home *= *(.+)$", _start_of(os.path.join(prefix, "pyvenv.cfg")))
    # The interpreter that a virtual environment was made with.
    return found + ([] if base is None else _prefix_files(f"{base.group(1).strip()}/python", home))


def _folder_of(path: str, home: str) -> list[str]:
    """Return the folder of a program or script; only the file if the folder is too wide."""
    parts = path.split("/node_modules/")
    folder = f"{parts[0]}/node_modules" if len(parts) > 1 else os.path.dirname(path)
    real = os.path.realpath(folder)
    is_above_home = home == real or home.startswith(real.rstrip("/") + "/")
    return [path] if is_above_home or real in ("/tmp", "/var/tmp") else [folder]


def _is_folder(path: str) -> bool:
    return os.path.isdir(os.path.expanduser(path))


def _paths(values: object, name: str) -> tuple[str, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"{name} of a sandbox must be a list of paths, not {values!r:.100}")
    paths = []
    for value in values:
        path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
        if not isinstance(path, str) or not path or "\0" in path:
            raise UsageError(f"{name} of a sandbox must hold paths, not {value!r:.100}")
        paths.append(path)
    return tuple(paths)


def _size(value: object) -> Any:
    if isinstance(value, str):
        found = _SIZE.fullmatch(value)
        if found is None:
            raise UsageError(
                f'memory of a sandbox must be like 1000000 or "512M", not {value!r:.100}'
            )
        value = int(found.group(1)) * _UNITS[found.group(2)]
    _check_positive(value, "memory", int)
    return value


def _check_positive(value: Any, name: str, kinds: Any) -> None:
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value < float("inf")):
        raise UsageError(f"{name} of a sandbox must be a positive number, not {value!r:.100}")


NAMED_SANDBOXES: Mapping[str, Sandbox] = {
    "git": Sandbox(["~/.gitconfig", "~/.config/git"], ["."]),
    "filesystem": Sandbox(write=["."]),
    "time": Sandbox(),
    "fetch": Sandbox(network=True),
    "node": Sandbox(["."]),
    "python": Sandbox(["."]),
}
"""Sets of rights that many servers need, ``"."`` being their working directory."""

GIT, FILESYSTEM, TIME, FETCH, NODE, PYTHON_VENV = NAMED_SANDBOXES.values()

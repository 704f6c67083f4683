"""The rights of a confined server: those granted, and those its command needs to start at all."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import UsageError
from .files import CERTIFICATES, given_paths, is_script, to_grant

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"([0-9]+) ?([KMG]?)(?:i?B)?")

# Folders that package runners write to; they need the network, too, for downloads.
_RUNNERS = {
    **dict.fromkeys(("npx", "npm"), ("~/.npm", "~/.cache/node-gyp")),
    **dict.fromkeys(("uvx", "uv"), ("~/.cache/uv", "~/.local/share/uv")),
    **dict.fromkeys(("pnpm", "pnpx"), ("~/.local/share/pnpm", "~/.cache/pnpm")),
    **dict.fromkeys(("bunx", "bun"), ("~/.bun",)),
    **dict.fromkeys(("pipx",), ("~/.local/share/pipx", "~/.cache/pipx", "~/.local/pipx")),
    **dict.fromkeys(("deno",), ("~/.cache/deno",)),
}

# Variables of a server that reaches a service.
_REMOTE = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|URL|URI|HOST|ENDPOINT|PROXY")


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
    def for_command(
        cls, command: Sequence[str], env: Mapping[str, str] | None = None, directory: str = "."
    ) -> Sandbox:
        """Return the rights that a server is likely to need, by its command; nothing is started.

        ``env``: the variables it is given. It gets the folders and files that these and its
        arguments name, and the network for credentials and addresses. Package runners such as npx
        and uvx get their caches and the network: they download the server at its first start.
        """
        program = os.path.basename(command[0]).lower().partition(".")[0] if command else ""
        sandbox = cls(write=[each for each in _RUNNERS.get(program, ()) if _is_there(each)])
        for path in given_paths(command, env or {}, os.path.abspath(directory)):
            right, granted = to_grant(path)
            sandbox |= cls([granted]) if right == "read" else cls(write=[granted])
        words = " ".join(command)
        names = " ".join(name for name in env or {} if name not in CERTIFICATES)
        reaches_services = "://" in words or _REMOTE.search(names) is not None
        sandbox |= cls(network=program in _RUNNERS or reaches_services)
        for name, needs in _SERVERS.items():
            if re.search(rf"\b{name}\b", words):
                read = [path for path in needs.read if _is_there(path)]
                write = () if sandbox.write else needs.write or _own_folder(name, command)
                sandbox |= cls(read, write, needs.network)
        return sandbox

    def as_options(self) -> list[str]:
        """Return the options of the command line that grant these files and the network."""
        return [
            *(f"--allow-read {shlex.quote(os.fspath(path))}" for path in self.read),
            *(f"--allow-write {shlex.quote(os.fspath(path))}" for path in self.write),
            *(["--allow-network"] if self.network else []),
        ]

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


def _own_folder(name: str, command: Sequence[str]) -> list[str]:
    """Return the folder of its script for a server that keeps its files there."""
    scripts = [os.path.realpath(word) for word in command[1:] if is_script(word)]
    return [os.path.dirname(script) for script in scripts if name == "server-memory"]


def _is_there(path: str | os.PathLike[str]) -> bool:
    return os.path.exists(os.path.expanduser(path))


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

# What other words in a command need, unless it names folders itself.
_SERVERS = {
    **{f"server-{name}": NAMED_SANDBOXES[name] for name in ("git", "filesystem", "fetch")},
    "server-memory": Sandbox(),
    "kubernetes|k8s": Sandbox(["~/.kube"], network=True),
    "eslint": Sandbox(["."]),
}

GIT, FILESYSTEM, TIME, FETCH, NODE, PYTHON_VENV = NAMED_SANDBOXES.values()

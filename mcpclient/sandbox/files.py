"""The files that a command needs: to start at all, and those that its user gives it by name."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

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

CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "NODE_EXTRA_CA_CERTS",
)
"""Variables of the server's environment that name files with certificates."""

_SCRIPT = re.compile(r"\.(?:py|pyz|js|mjs|cjs|ts|mts|jar|rb|php|pl|sh|wasm)\Z")
# Files that a server reads and does not change.
_SETTINGS = re.compile(r"\.(?:ya?ml|toml|ini|conf|cfg|env|pem|crt|key)\Z|config\Z|credentials")
# Where an interpreter's prefix has its own files; share/ may hold the user's data and keys.
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")
_MAX_SHEBANGS = 3


def program_files(
    command: Sequence[str], env: Mapping[str, str], directory: str, executable: str
) -> list[str]:
    """Return the files and folders that a command needs to be read, so that it starts at all.

    ``executable``: the path of its program. These are the interpreter's own folders, the folders of
    the program or script, and the certificates that its environment names; never the home folder.
    """
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    found = [env[name] for name in CERTIFICATES if env.get(name)]
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
        if is_script(path):
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


def given_paths(command: Sequence[str], env: Mapping[str, str], directory: str) -> Iterator[str]:
    """Yield the files and folders that arguments and variables name, as ``--db=~/notes.db`` does.

    They exist, or can be made where they are. The program and its script are not among them.
    """
    own = {name: value for name, value in env.items() if os.environ.get(name) != value}
    values = [value for name, value in own.items() if name not in CERTIFICATES]
    words = [word.partition("=")[2] if word.startswith("-") else word for word in command[1:]]
    for word in (*words, *values):
        if not word or "://" in word or "\0" in word:
            continue
        path = os.path.normpath(os.path.join(directory, os.path.expanduser(word)))
        if is_script(path):
            continue
        is_named = "/" in word and os.path.isdir(os.path.dirname(path))
        if os.path.exists(path) or is_named:
            yield path


def is_script(path: str) -> bool:
    """Whether a file is a program, by its name or its first line."""
    return os.path.isfile(path) and bool(_SCRIPT.search(path) or _start_of(path)[:2] == "#!")


def to_grant(path: str) -> tuple[str, str]:
    """Return the right that a file or folder given to a server needs, and the path to grant."""
    if os.path.isfile(path) and _SETTINGS.search(path):
        return "read", path
    return "write", path if os.path.isdir(path) else os.path.dirname(path)  # beside a database


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether ``path`` is one of ``folders``, or below one."""
    return any(path == each or path.startswith(each.rstrip("/") + "/") for each in folders)

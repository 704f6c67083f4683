"""The restrictions of a process, which it sets for itself and for all that it starts, for good.

They need no privileges. Only `launcher` imports this, and it is part of that program.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from resource import RLIM_INFINITY, RLIMIT_CORE, RLIMIT_DATA, RLIMIT_FSIZE, getrlimit, setrlimit
from signal import SIGCHLD, SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:  # see `launcher`
    from typing import Any

SET_PARENT_DEATH_SIGNAL, _SET_SECUREBITS, _DROP_BOUNDING, SET_SUBREAPER = 1, 28, 24, 36
_SET_NO_NEW_PRIVS, _AMBIENT, _AMBIENT_CLEAR = 38, 47, 4
# SECBIT_NOROOT and SECBIT_NO_SETUID_FIXUP, both locked: even root's programs get no capabilities.
_NO_ROOT_SECUREBITS = 0b1111
_CAPABILITY_VERSION = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_CLONE = {"x86_64": 56, "aarch64": 220}
_FILTER_MODE, _NEW_LISTENER, _WAIT_KILLABLE = 1, 8, 32
_NEW_USER, _NEW_PROCESSES, _NEW_MOUNTS = 0x10000000, 0x20000000, 0x00020000
_RECURSIVE, _SLAVE = 0x4000, 0x80000
_READ_ONLY_NO_SUID_DEVICES_PROGRAMS = 0b1111
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_TREE, _WHOLE_TREE, _FROM_DESCRIPTOR, _READ_ONLY = 1, 0x8000, 4, 1
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_BENEATH_PATH = 1
AT_FDCWD = -100
SET_ID_BITS = 0o6000

# Rights of Landlock's ABI 5 and 6. MAKE_CHAR (6) and MAKE_BLOCK (11), devices, are never granted.
_ALL_FILE_RIGHTS, _ALL_TCP_RIGHTS, _ALL_SCOPES, _SIGNALS = (1 << 16) - 1, 0b11, 0b11, 0b10
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_WRITE = _ALL_FILE_RIGHTS & ~(1 << 6 | 1 << 11 | 1 << 15)
# What a rule about one file can hold: execute, write, read, truncate, device ioctl.
_OF_A_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

# Private mappings that a process may have beyond the memory it may use: stacks and reserves.
_DATA_SLACK = 512 * 1024 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{call}: {os.strerror(ctypes.get_errno())}")
    return result


def _system_call(number: int, *arguments: Any) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def control(option: int, *arguments: int) -> None:
    """Call ``prctl``; raises `OSError`."""
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(_libc.prctl(ctypes.c_int(option), *padded), f"prctl {option}")


def _new_ruleset(files: int, tcp: int, scopes: int) -> int:
    attributes = struct.pack("=QQQ", files, tcp, scopes)
    return _system_call(_CREATE_RULESET, attributes, ctypes.c_size_t(24), ctypes.c_uint(0))


def _enter(ruleset: int) -> None:
    _system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)


def confine_signals() -> None:
    """Confine signals to processes that are started from now on: one to all reaches only those."""
    control(_SET_NO_NEW_PRIVS, 1)
    _enter(_new_ruleset(0, 0, _SIGNALS))
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        return
    raise OSError(errno.ENOSYS, "the kernel does not confine signals")


def fork_apart(machine: str) -> int:
    """Fork as `os.fork` does, but into namespaces of processes and mounts; -1 where it is refused.

    An ordinary user cannot mount /proc otherwise. The new process is the first one there, and all
    others end with it. It ends at once where /proc cannot be mounted, as in most containers.
    """
    user, group = os.geteuid(), os.getegid()
    flags = ctypes.c_ulong(_NEW_USER | _NEW_PROCESSES | _NEW_MOUNTS | SIGCHLD)
    process: int = _libc.syscall(ctypes.c_long(_CLONE[machine]), flags, None, None, None, None)
    if process == 0:
        try:
            _map(user, group)
            _checked(_libc.mount(None, b"/", None, _SLAVE | _RECURSIVE, None), "mount")
            _checked(_mount_processes(), "mount")
        except OSError:
            os._exit(1)
    return process


def _mount_processes() -> int:
    """Mount a /proc that shows only the processes that the reader may trace: the server's."""
    flags = _READ_ONLY_NO_SUID_DEVICES_PROGRAMS
    return int(_libc.mount(b"proc", b"/proc", b"proc", flags, b"hidepid=4"))


def restrict(orders: dict[str, Any], writable: list[bytes], *, is_apart: bool) -> int | None:
    """Confine this process; return the filter's listener if it is to decide on changes of modes."""
    is_closed = _can_close_mounts(writable)
    if is_closed:
        _close_mounts(writable)
    # Landlock does not tell processes apart in /proc.
    is_own = is_apart or (is_closed and _mount_processes() == 0)
    processes = b"/proc" if is_own else b"/proc/%d" % os.getpid()
    control(SET_PARENT_DEATH_SIGNAL, SIGKILL)  # another user namespace has cleared it
    _limit(orders)
    _drop_capabilities(orders["machine"])
    _confine_files([*orders["read"], processes], writable, orders)
    program = orders["filter" if is_closed else "brokered filter"]
    content = ctypes.create_string_buffer(program, len(program))
    filter_of = struct.pack("@HxxxxxxQ", len(program) // 8, ctypes.addressof(content))
    flags = ctypes.c_uint(0 if is_closed else _NEW_LISTENER | _WAIT_KILLABLE)
    number = _SECCOMP[orders["machine"]]
    listener = _system_call(number, ctypes.c_uint(_FILTER_MODE), flags, filter_of)
    return None if is_closed else listener


def _can_close_mounts(writable: list[bytes]) -> bool:
    """Try it in a process that then ends: a half-made namespace cannot be left."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] == 0
    try:
        _close_mounts(writable)
    except OSError:
        os._exit(1)
    os._exit(0)


def _close_mounts(writable: list[bytes]) -> None:
    """Make all other files read-only: Landlock does not confine changes of modes and times."""
    folder, user, group = os.getcwd(), os.geteuid(), os.getegid()
    if _libc.unshare(_NEW_MOUNTS) < 0:  # an ordinary user, where `fork_apart` has failed
        _checked(_libc.unshare(_NEW_MOUNTS | _NEW_USER), "unshare")
        _map(user, group)
    _checked(_libc.mount(None, b"/", None, _SLAVE | _RECURSIVE, None), "mount")
    if b"/" not in writable:
        trees = [(path, _tree_of(path)) for path in _outermost(writable)]
        attributes = struct.pack("=QQQQ", _READ_ONLY, 0, 0, 0)
        _system_call(_MOUNT_SETATTR, AT_FDCWD, b"/", _WHOLE_TREE, attributes, ctypes.c_size_t(32))
        for path, tree in trees:
            _system_call(_MOVE_MOUNT, tree, b"", AT_FDCWD, path, _FROM_DESCRIPTOR)
            os.close(tree)
        os.chdir(folder)  # it may be another mount now


def _map(user: int, group: int) -> None:
    """Give this process, in a new user namespace, the user and group it had outside."""
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(content)


def _tree_of(path: bytes) -> int:
    return _system_call(_OPEN_TREE, AT_FDCWD, path, _CLONE_TREE | _WHOLE_TREE | os.O_CLOEXEC)


def _outermost(paths: list[bytes]) -> list[bytes]:
    """Return the paths that are not below others: files are moved within one mount only."""
    roots = {path.rstrip(b"/") + b"/" for path in paths}
    return [
        path
        for path in dict.fromkeys(paths)
        if not any(path.startswith(root) for root in roots if root != path.rstrip(b"/") + b"/")
    ]


def _limit(orders: dict[str, Any]) -> None:
    setrlimit(RLIMIT_CORE, (0, 0))
    limits = [(RLIMIT_FSIZE, orders["file_size"])]
    if orders["memory"]:
        limits.append((RLIMIT_DATA, orders["memory"] + _DATA_SLACK))
    for limit, value in limits:
        hard = getrlimit(limit)[1]
        if hard == RLIM_INFINITY or value < hard:
            setrlimit(limit, (value, value))


def _drop_capabilities(machine: str) -> None:
    try:
        control(_SET_SECUREBITS, _NO_ROOT_SECUREBITS)
        for capability in range(64):
            try:
                control(_DROP_BOUNDING, capability)
            except OSError:
                break  # the kernel knows no more
        control(_AMBIENT, _AMBIENT_CLEAR)
    except PermissionError:
        pass  # root without this capability has few others, which are dropped below
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _system_call(_CAPSET[machine], header, bytes(24))


def _confine_files(readable: list[bytes], writable: list[bytes], orders: dict[str, Any]) -> None:
    ruleset = _new_ruleset(
        _ALL_FILE_RIGHTS, 0 if orders["network"] else _ALL_TCP_RIGHTS, _ALL_SCOPES
    )
    rules = [(path, _READ) for path in readable]
    rules += [(path, _WRITE) for path in writable]
    rules += [(path, _READ | _WRITE | 1 << 15) for path in orders["devices"]]
    for path, rights in rules:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        if not os.path.isdir(path):
            rights &= _OF_A_FILE
        rule = struct.pack("=Qi", rights, descriptor)
        _system_call(
            _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_BENEATH_PATH), rule, ctypes.c_uint(0)
        )
        os.close(descriptor)
    _enter(ruleset)

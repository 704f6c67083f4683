"""The seccomp filter of a confined server: a BPF program that decides on each system call.

Landlock confines files, TCP, signals and abstract sockets. It does not see other sockets, other
processes' memory, namespaces, the keyring, io_uring (which makes sockets past any filter on
`socket`), or changes of a file's mode: those are denied here. Changes of modes are handed to the
launcher where it cannot mount files read-only.

Source: Documentation/userspace-api/seccomp_filter.rst; the numbers come from
``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Sequence

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The machines that have a filter, and the architecture that the kernel reports for each."""

# All are denied: they reach other processes, the kernel, or things that Landlock does not confine.
_DENIED = """
    ptrace 101 117            process_vm_readv 310 270   process_vm_writev 311 271
    process_madvise 440 440   kcmp 312 272               pidfd_getfd 438 438
    perf_event_open 298 241   bpf 321 280                userfaultfd 323 282
    io_uring_setup 425 425    io_uring_enter 426 426     io_uring_register 427 427
    add_key 248 217           request_key 249 218        keyctl 250 219
    mount 165 40              umount2 166 39             move_mount 429 429
    open_tree 428 428         fsopen 430 430             fsconfig 431 431
    fsmount 432 432           fspick 433 433             mount_setattr 442 442
    pivot_root 155 41         chroot 161 51              open_tree_attr 467 467
    unshare 272 97            setns 308 268              modify_ldt 154 -
    kexec_load 246 104        kexec_file_load 320 294    reboot 169 142
    init_module 175 105       finit_module 313 273       delete_module 176 106
    swapon 167 224            swapoff 168 225            acct 163 89
    quotactl 179 60           quotactl_fd 443 443        iopl 172 -
    ioperm 173 -              settimeofday 164 170       clock_settime 227 112
    clock_adjtime 305 266     adjtimex 159 171           sethostname 170 161
    setdomainname 171 162     syslog 103 116             vhangup 153 58
    open_by_handle_at 304 265 name_to_handle_at 303 264  fanotify_init 300 262
    shmget 29 194             shmat 30 196               shmctl 31 195
    msgget 68 186             msgsnd 69 189              msgrcv 70 188
    msgctl 71 187             semget 64 190              semop 65 193
    semtimedop 220 192        semctl 66 191              mq_open 240 180
    mq_unlink 241 181         setxattr 188 5             lsetxattr 189 6
    fsetxattr 190 7           setxattrat 463 463         removexattr 197 14
    lremovexattr 198 15       fremovexattr 199 16        removexattrat 466 466
    fchown 93 55              fchownat 260 54            chown 92 -
    lchown 94 -               file_setattr 469 469
"""
# Reported as unknown, so that a C library uses the older call, whose arguments the filter can see.
_UNKNOWN = "clone3 435 435  openat2 437 437  memfd_secret 447 447 "
_MEMORY_FILES = "memfd_create 319 279"
# Handed to the launcher where files are not mounted read-only. It makes the change itself, at a
# descriptor that it has checked: a path that is used later could have changed meanwhile.
_BROKERED = "chmod 90 -  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452"
# The argument that names a process, which may be the caller only (0).
_OWN_PROCESS = """
    prlimit64 302 261 0  setpriority 141 140 1  ioprio_set 251 30 1  sched_setparam 142 118 0
    sched_setscheduler 144 119 0  sched_setattr 314 274 0
"""
# The arguments that hold the flags and the mode of a new file; "-": no flags.
_CREATES = """
    open 2 - 1 2  openat 257 56 2 3  creat 85 - - 1  mknod 133 - - 1  mknodat 259 33 - 2
"""

_ALLOW = 0x7FFF0000
_NOTIFY = 0x7FC00000
_ERRNO = 0x00050000
_DENY = _ERRNO | errno.EPERM
_REFUSE = _ERRNO | errno.EACCES

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32_BIT = 0x40000000
_NEW_NAMESPACE = 0x7E020000
_SET_ID_BITS = 0o6000
_O_CREAT_OR_TMPFILE = 0x40 | 0x400000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _SOCK_DGRAM = 1, 2, 10, 16, 2
# They type characters into the terminal from which the client was started.
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

_Instruction = tuple[int, int, int, int]


def _rows(table: str, machine: str, others: int = 0) -> Iterator[tuple[int, str, Sequence[str]]]:
    """Yield the number, the name and the ``others`` of each system call that the machine has."""
    words = table.split()
    for start in range(0, len(words), 3 + others):
        name, x86_64, aarch64, *values = words[start : start + 3 + others]
        number = x86_64 if machine == "x86_64" else aarch64
        if number != "-":
            yield int(number), name, values


BROKERED: dict[str, dict[int, str]] = {
    machine: {number: name for number, name, _ in _rows(_BROKERED, machine)} for machine in MACHINES
}
"""By machine: the system calls that the launcher decides on, by number."""


def syscall_filter(machine: str, *, network: bool, memory: bool, brokered: bool) -> bytes:
    """Return the filter as the kernel takes it: instructions of 8 bytes each.

    ``network``: Internet sockets are allowed. Unix sockets never are: a path such as
    Docker's or an SSH agent's leads out of any sandbox. A connected pair is allowed.
    ``memory``: memory is counted, so that there are no files in memory, which no process maps.
    ``brokered``: a launcher decides on the calls in `BROKERED`; otherwise they are allowed.
    """
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, MACHINES[machine]),  # "int 0x80" has other numbers
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for number, block in _blocks(machine, network, memory, brokered):
        program += [(_EQUAL, 0, len(block), number), *block]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _blocks(
    machine: str, network: bool, memory: bool, brokered: bool
) -> Iterator[tuple[int, list[_Instruction]]]:
    """Yield system calls, each with instructions that end in a verdict."""
    for number, _, _ in _rows(_DENIED, machine):
        yield number, [(_RETURN, 0, 0, _DENY)]
    for number, _, _ in _rows(_UNKNOWN + (_MEMORY_FILES if memory else ""), machine):
        yield number, [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for number, _, (argument,) in _rows(_OWN_PROCESS, machine, 1):
        yield number, [_load(int(argument)), (_EQUAL, 0, 1, 0), *_verdicts(_ALLOW, _DENY)]
    for number, _, (flags, mode) in _rows(_CREATES, machine, 2):
        yield number, _mode_check(flags, mode)
    for number, name, _ in _rows("ioctl 16 29  socketpair 53 199", machine):
        yield number, [_load(1), *_SECOND_ARGUMENT[name], *_verdicts(_DENY, _ALLOW)]
    for number, name, _ in _rows("socket 41 198  clone 56 220  personality 135 92", machine):
        yield number, _FIRST_ARGUMENT[name] if name != "socket" else _socket_check(network)
    for number, name in BROKERED[machine].items():
        mode = "2" if name.startswith("fchmodat") else "1"
        yield number, [(_RETURN, 0, 0, _NOTIFY)] if brokered else _mode_check("-", mode)


_SECOND_ARGUMENT: dict[str, list[_Instruction]] = {
    "ioctl": [(_EQUAL, 1, 0, _TERMINAL_INPUT[0]), (_EQUAL, 0, 1, _TERMINAL_INPUT[1])],
    # A pair of datagram sockets can send to any path; a pair of streams only to each other.
    "socketpair": [(_AND, 0, 0, 0xF), (_EQUAL, 0, 1, _SOCK_DGRAM)],
}
"""The tests of the second argument that make a call denied, by the name of the call."""


def _load(argument: int) -> _Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)  # the lower half: both are little-endian


def _verdicts(first: int, second: int) -> list[_Instruction]:
    return [(_RETURN, 0, 0, first), (_RETURN, 0, 0, second)]


_FIRST_ARGUMENT: dict[str, list[_Instruction]] = {
    "clone": [_load(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACE), *_verdicts(_DENY, _ALLOW)],
    # To ask for it, and to set the ordinary one; others change how programs are laid out.
    "personality": [
        *(_load(0), (_EQUAL, 2, 0, 0xFFFFFFFF), (_EQUAL, 1, 0, 0)),
        *_verdicts(_DENY, _ALLOW),
    ],
}


def _mode_check(flags: str, mode: str) -> list[_Instruction]:
    """Deny a new file with a set-ID bit; the mode is ignored unless a file is created."""
    block = [_load(int(mode)), (_ANY_BIT, 0, 1, _SET_ID_BITS), *_verdicts(_DENY, _ALLOW)]
    if flags != "-":
        creates = (_ANY_BIT, 1, 0, _O_CREAT_OR_TMPFILE)
        block = [_load(int(flags)), creates, (_RETURN, 0, 0, _ALLOW), *block]
    return block


def _socket_check(network: bool) -> list[_Instruction]:
    """Allow Internet sockets, and the netlink socket with which names are resolved (protocol 0)."""
    if not network:
        return [(_RETURN, 0, 0, _REFUSE)]
    return [
        _load(0),
        (_EQUAL, 4, 0, _AF_INET),
        (_EQUAL, 3, 0, _AF_INET6),
        (_EQUAL, 0, 3, _AF_NETLINK),
        _load(2),
        (_EQUAL, 0, 1, 0),
        *_verdicts(_ALLOW, _REFUSE),
    ]

"""The seccomp filter, run by an interpreter of its instructions: each machine, each call."""

from __future__ import annotations

import errno
import struct

import pytest

from mcpclient.sandbox.syscall_filter import BROKERED, MACHINES, syscall_filter

ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
DENY = 0x00050000 | errno.EPERM
UNKNOWN = 0x00050000 | errno.ENOSYS
REFUSE = 0x00050000 | errno.EACCES


def judged(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Run classic BPF as the kernel does and return the verdict."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    accumulator = position = 0
    instructions = list(struct.iter_unpack("=HBBI", program))
    while True:
        code, jump_true, jump_false, value = instructions[position]
        position += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            position += jump_true if holds else jump_false


# By machine: ptrace, openat, clone, socket, socketpair, prlimit64, ioctl, read.
NUMBERS = {
    "x86_64": (101, 257, 56, 41, 53, 302, 16, 0),
    "aarch64": (117, 56, 220, 198, 199, 261, 29, 63),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_each_call_is_judged_by_its_arguments(machine: str) -> None:
    """F-BOX-2, F-BOX-4: only changes of modes ever wait for the launcher."""
    ptrace, openat, clone, socket, pair, limit, ioctl, read = NUMBERS[machine]
    program = syscall_filter(machine, network=False, memory=False, brokered=True)

    def verdict(number: int, *arguments: int) -> int:
        return judged(program, MACHINES[machine], number, *arguments)

    assert verdict(read) == ALLOW
    assert verdict(ptrace) == DENY
    assert verdict(435) == verdict(437) == UNKNOWN  # clone3, openat2
    assert verdict(425) == verdict(426) == DENY  # io_uring
    assert verdict(openat, 0, 0, 0, 0o4755) == ALLOW  # nothing is made, so the mode is noise
    # The second mode is the number of fchmodat2: it must not be taken for a call's number.
    assert verdict(openat, 0, 0, 0x41, 0o644) == verdict(openat, 0, 0, 0x41, 0o704) == ALLOW
    assert verdict(openat, 0, 0, 0x41, 0o4755) == verdict(openat, 0, 0, 0x410000, 0o2755) == DENY
    assert verdict(clone, 0x10000000 | 17) == verdict(clone, 0x20010000) == DENY
    assert verdict(clone, 0x3D0F00) == ALLOW  # a thread
    assert verdict(clone, 17) == verdict(clone, 0x4100 | 17) == ALLOW
    assert verdict(socket, 2, 1) == verdict(socket, 1, 1) == REFUSE
    assert verdict(pair, 1, 0x80001) == ALLOW
    assert verdict(pair, 1, 0x80002) == DENY
    assert verdict(limit, 0) == ALLOW
    assert verdict(limit, 4711) == DENY
    assert verdict(ioctl, 0, 0x5412) == verdict(ioctl, 0, 0x541C) == DENY
    assert verdict(ioctl, 0, 0x5401) == ALLOW
    waiting = {number for number in range(500) if verdict(number) == NOTIFY}
    assert waiting == set(BROKERED[machine])
    assert all("chmod" in name for name in BROKERED[machine].values())


@pytest.mark.parametrize("machine", MACHINES)
def test_with_the_network_only_internet_sockets_are_made(machine: str) -> None:
    """F-BOX-2"""
    socket = NUMBERS[machine][3]
    program = syscall_filter(machine, network=True, memory=False, brokered=False)

    def verdict(*arguments: int) -> int:
        return judged(program, MACHINES[machine], socket, *arguments)

    assert verdict(2, 1) == verdict(10, 2) == verdict(16, 3, 0) == ALLOW
    assert verdict(1, 1) == verdict(16, 3, 15) == verdict(17, 3) == verdict(40, 1) == REFUSE


def test_other_tables_of_calls_are_closed() -> None:
    """F-BOX-2"""
    program = syscall_filter("x86_64", network=True, memory=False, brokered=False)
    assert judged(program, 0x40000003, 102) == DENY  # 32 bits
    assert judged(program, MACHINES["x86_64"], 0x40000000 | 41, 2) == UNKNOWN  # x32


def test_without_a_launcher_no_call_waits_for_it() -> None:
    """F-BOX-2: modes are changed, but none makes a program set-user-ID."""
    program = syscall_filter("x86_64", network=False, memory=True, brokered=False)

    def verdict(number: int, *arguments: int) -> int:
        return judged(program, MACHINES["x86_64"], number, *arguments)

    assert not any(verdict(number) == NOTIFY for number in range(500))
    assert verdict(90, 0, 0o644) == verdict(268, 0, 0, 0o755) == ALLOW
    assert verdict(90, 0, 0o4755) == verdict(91, 0, 0o2755) == verdict(452, 0, 0, 0o4755) == DENY
    assert verdict(319) == UNKNOWN  # memfd_create
    assert verdict(135, 0xFFFFFFFF) == verdict(135, 0) == ALLOW
    assert verdict(135, 0x0040000) == DENY  # personality(ADDR_NO_RANDOMIZE)

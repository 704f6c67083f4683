"""A program that tries to get out of its sandbox, by one way each time it runs.

``python hostile.py WAY OUTSIDE``: OUTSIDE is a folder it has no rights to, with ``facts.json`` that
the test has written and the sandbox lets it read. Prints ``escaped`` or ``denied: why``.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAYS: dict[str, Callable[[Path, dict[str, Any]], object]] = {}
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"


def way(function: Callable[[Path, dict[str, Any]], object]) -> Callable[..., object]:
    WAYS[function.__name__] = function
    return function


def call(x86: int, arm: int, *arguments: Any) -> int:
    result: int = LIBC.syscall(ctypes.c_long(x86 if X86 else arm), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# Files


@way
def read_a_key(outside: Path, facts: dict[str, Any]) -> None:
    (outside / "key").read_bytes()


@way
def read_through_a_link(outside: Path, facts: dict[str, Any]) -> None:
    link = Path(os.environ["TMPDIR"], "link")
    link.symlink_to(outside / "key")
    link.read_bytes()


@way
def read_through_a_hard_link(outside: Path, facts: dict[str, Any]) -> None:
    link = Path(os.environ["TMPDIR"], "hard")
    os.link(outside / "key", link)
    link.read_bytes()


@way
def list_a_folder(outside: Path, facts: dict[str, Any]) -> None:
    os.listdir(outside)


@way
def read_through_the_root_of_a_process(outside: Path, facts: dict[str, Any]) -> None:
    Path(f"/proc/{facts['victim']}/root{outside}/key").read_bytes()


@way
def read_the_environment_of_a_process(outside: Path, facts: dict[str, Any]) -> None:
    Path(f"/proc/{facts['victim']}/environ").read_bytes()


@way
def read_the_command_line_of_a_process(outside: Path, facts: dict[str, Any]) -> None:
    Path(f"/proc/{facts['victim']}/cmdline").read_bytes()


@way
def write_a_file(outside: Path, facts: dict[str, Any]) -> None:
    (outside / "key").write_bytes(b"mine")


@way
def make_a_file(outside: Path, facts: dict[str, Any]) -> None:
    (outside / "new").write_bytes(b"mine")


@way
def truncate_a_file(outside: Path, facts: dict[str, Any]) -> None:
    os.truncate(outside / "key", 0)


@way
def remove_a_file(outside: Path, facts: dict[str, Any]) -> None:
    os.unlink(outside / "key")


@way
def rename_a_file_out(outside: Path, facts: dict[str, Any]) -> None:
    inside = Path(os.environ["TMPDIR"], "mine")
    inside.write_bytes(b"mine")
    os.rename(inside, outside / "mine")


@way
def rename_a_file_in(outside: Path, facts: dict[str, Any]) -> None:
    os.rename(outside / "key", Path(os.environ["TMPDIR"], "stolen"))


@way
def change_the_mode_of_a_file(outside: Path, facts: dict[str, Any]) -> None:
    os.chmod(outside / "key", 0o666)


@way
def change_the_mode_by_descriptor(outside: Path, facts: dict[str, Any]) -> None:
    descriptor = os.open(outside / "facts.json", os.O_RDONLY)
    os.fchmod(descriptor, 0o666)


@way
def change_the_owner_of_a_file(outside: Path, facts: dict[str, Any]) -> None:
    os.chown(outside / "key", os.getuid(), os.getgid())


@way
def make_a_program_set_user_id(outside: Path, facts: dict[str, Any]) -> None:
    program = Path(os.environ["TMPDIR"], "program")
    program.write_bytes(b"")
    program.chmod(0o4755)


@way
def create_a_program_set_user_id(outside: Path, facts: dict[str, Any]) -> None:
    name = os.environ["TMPDIR"] + "/made"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o4755))
    assert os.stat(name).st_mode & 0o4000


@way
def fill_the_disk(outside: Path, facts: dict[str, Any]) -> None:
    with open(os.environ["TMPDIR"] + "/large", "wb") as file:
        file.truncate(2 << 30)


# The network


@way
def connect_by_tcp(outside: Path, facts: dict[str, Any]) -> None:
    socket.create_connection(("127.0.0.1", facts["port"]), timeout=5).close()


@way
def connect_by_tcp_over_ipv6(outside: Path, facts: dict[str, Any]) -> None:
    socket.socket(socket.AF_INET6)


@way
def send_by_udp(outside: Path, facts: dict[str, Any]) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"!", ("127.0.0.1", facts["port"]))


@way
def resolve_a_name(outside: Path, facts: dict[str, Any]) -> None:
    # As a resolver does it, to a name server on this machine.
    query = b"\x00\x01\x01\x00\x00\x01" + bytes(6) + b"\x01x\x00\x00\x01\x00\x01"
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(query, ("127.0.0.1", facts["port"]))


@way
def connect_by_multipath_tcp(outside: Path, facts: dict[str, Any]) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)  # IPPROTO_MPTCP


@way
def open_a_packet_socket(outside: Path, facts: dict[str, Any]) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


@way
def open_a_netlink_socket(outside: Path, facts: dict[str, Any]) -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)


@way
def open_a_virtual_machine_socket(outside: Path, facts: dict[str, Any]) -> None:
    socket.socket(40, socket.SOCK_STREAM)  # AF_VSOCK


@way
def connect_to_a_unix_socket(outside: Path, facts: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(facts["unix"])


@way
def connect_to_an_abstract_socket(outside: Path, facts: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + facts["abstract"])


@way
def send_from_half_a_pair(outside: Path, facts: dict[str, Any]) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"!", facts["datagrams"])


@way
def call_the_kernel_in_32_bits(outside: Path, facts: dict[str, Any]) -> None:
    # mov eax, 359 (socket); mov ebx, 2 (AF_INET); mov ecx, 1; xor edx, edx; int 0x80; ret
    code = bytes.fromhex("53b867010000bb02000000b90100000031d2cd805bc3")
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if result < 0:
        raise OSError(-result, os.strerror(-result))


@way
def call_the_kernel_as_x32(outside: Path, facts: dict[str, Any]) -> None:
    call(0x40000000 | 41, 0x40000000 | 198, socket.AF_INET, socket.SOCK_STREAM, 0)


@way
def set_up_io_uring(outside: Path, facts: dict[str, Any]) -> None:
    call(425, 425, 4, bytes(120))


# Other processes, and the kernel


@way
def signal_the_client(outside: Path, facts: dict[str, Any]) -> None:
    os.kill(facts["client"], 0)


@way
def signal_another_process(outside: Path, facts: dict[str, Any]) -> None:
    os.kill(facts["victim"], signal.SIGCONT)


@way
def end_the_launcher(outside: Path, facts: dict[str, Any]) -> None:
    os.kill(os.getppid(), signal.SIGKILL)


@way
def trace_a_process(outside: Path, facts: dict[str, Any]) -> None:
    call(101, 117, 0x4206, facts["victim"], 0, 0)  # PTRACE_SEIZE


@way
def read_the_memory_of_a_process(outside: Path, facts: dict[str, Any]) -> None:
    with open(f"/proc/{facts['victim']}/mem", "rb"):
        pass


@way
def limit_another_process(outside: Path, facts: dict[str, Any]) -> None:
    limits = resource.prlimit(facts["victim"], resource.RLIMIT_CORE)
    resource.prlimit(facts["victim"], resource.RLIMIT_CORE, limits)


@way
def make_a_user_namespace(outside: Path, facts: dict[str, Any]) -> None:
    call(272, 97, 0x10000000)  # unshare(CLONE_NEWUSER)


@way
def clone_into_a_user_namespace(outside: Path, facts: dict[str, Any]) -> None:
    process = call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if process == 0:
        os._exit(0)


@way
def mount_a_file_system(outside: Path, facts: dict[str, Any]) -> None:
    target = os.environ["TMPDIR"].encode()
    call(165, 40, b"none", target, b"tmpfs", 0, None)


@way
def change_the_root(outside: Path, facts: dict[str, Any]) -> None:
    os.chroot(os.environ["TMPDIR"])


@way
def use_the_keyring(outside: Path, facts: dict[str, Any]) -> None:
    call(250, 219, 0, -3, 1)  # KEYCTL_GET_KEYRING_ID of the session


@way
def load_a_bpf_program(outside: Path, facts: dict[str, Any]) -> None:
    call(321, 280, 0, struct.pack("=IIIIQ", 2, 4, 4, 1, 0) + bytes(100), 120)


@way
def attach_shared_memory(outside: Path, facts: dict[str, Any]) -> None:
    call(29, 194, 0x6D637031, 4096, 0o1600)  # shmget(IPC_CREAT)


@way
def type_into_the_terminal(outside: Path, facts: dict[str, Any]) -> None:
    import fcntl

    try:
        fcntl.ioctl(0, 0x5412, b"x")  # TIOCSTI
    except OSError as error:
        if error.errno == 25:  # not a terminal: the call itself was let through
            return
        raise


@way
def use_an_inherited_descriptor(outside: Path, facts: dict[str, Any]) -> None:
    os.fstat(facts["descriptor"])


@way
def become_root(outside: Path, facts: dict[str, Any]) -> None:
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    if int(effective.split()[1], 16) == 0 and "NoNewPrivs:\t1" in status:
        raise PermissionError("no capability, and no program gives any")


@way
def drop_the_limits(outside: Path, facts: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@way
def load_code_into_the_launcher(outside: Path, facts: dict[str, Any]) -> None:
    if "LD_PRELOAD" not in os.environ or not Path(os.environ["TMPDIR"], "loaded").exists():
        raise PermissionError("the launcher did not see the server's LD_PRELOAD")


# Limits


@way
def make_many_processes(outside: Path, facts: dict[str, Any]) -> None:
    for _ in range(40):
        if os.fork() == 0:
            time.sleep(30)


@way
def use_much_memory(outside: Path, facts: dict[str, Any]) -> None:
    blocks = [bytearray(os.urandom(1 << 20) * 64) for _ in range(20)]
    time.sleep(2)
    assert blocks


@way
def use_much_shared_memory(outside: Path, facts: dict[str, Any]) -> None:
    memory = mmap.mmap(-1, 1 << 30)
    for start in range(0, 1 << 30, 4096):
        memory[start] = 1
    time.sleep(2)


@way
def run_for_long(outside: Path, facts: dict[str, Any]) -> None:
    time.sleep(20)


def main() -> None:
    outside = Path(sys.argv[2])
    try:
        WAYS[sys.argv[1]](outside, json.loads((outside / "facts.json").read_text()))
    except (OSError, ValueError) as error:
        print(f"denied: {error}")
    else:
        print("escaped")


if __name__ == "__main__":
    main()
    subprocess  # noqa: B018

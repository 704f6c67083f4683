"""A program that tries to get out of its sandbox, by one way or several, one after the other.

``python hostile.py WAY,... OUTSIDE``: OUTSIDE is a folder it has no rights to, with ``facts.json``
that the test has written and the sandbox lets it read. Prints ``escaped`` or ``denied: why`` for
each way.
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
import sys
import time
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"


def call(x86: int, arm: int, *arguments: Any) -> int:
    result: int = LIBC.syscall(ctypes.c_long(x86 if X86 else arm), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Ways:
    """The ways out, each of which does it, or raises."""

    def __init__(self, outside: Path) -> None:
        self.outside = outside
        self.facts: dict[str, Any] = json.loads((outside / "facts.json").read_text())

    # Files

    def read_a_key(self) -> None:
        (self.outside / "key").read_bytes()

    def read_through_a_link(self) -> None:
        link = Path(os.environ["TMPDIR"], "link")
        link.symlink_to(self.outside / "key")
        link.read_bytes()

    def read_through_a_hard_link(self) -> None:
        link = Path(os.environ["TMPDIR"], "hard")
        os.link(self.outside / "key", link)
        link.read_bytes()

    def list_a_folder(self) -> None:
        os.listdir(self.outside)

    def read_through_the_root_of_a_process(self) -> None:
        Path(f"/proc/{self.facts['victim']}/root{self.outside}/key").read_bytes()

    def read_the_environment_of_a_process(self) -> None:
        Path(f"/proc/{self.facts['victim']}/environ").read_bytes()

    def read_the_command_line_of_a_process(self) -> None:
        Path(f"/proc/{self.facts['victim']}/cmdline").read_bytes()

    def write_a_file(self) -> None:
        (self.outside / "key").write_bytes(b"mine")

    def make_a_file(self) -> None:
        (self.outside / "new").write_bytes(b"mine")

    def truncate_a_file(self) -> None:
        os.truncate(self.outside / "key", 0)

    def remove_a_file(self) -> None:
        os.unlink(self.outside / "key")

    def rename_a_file_out(self) -> None:
        inside = Path(os.environ["TMPDIR"], "mine")
        inside.write_bytes(b"mine")
        os.rename(inside, self.outside / "mine")

    def rename_a_file_in(self) -> None:
        os.rename(self.outside / "key", Path(os.environ["TMPDIR"], "stolen"))

    def change_the_mode_of_a_file(self) -> None:
        os.chmod(self.outside / "key", 0o666)

    def change_the_mode_by_descriptor(self) -> None:
        descriptor = os.open(self.outside / "facts.json", os.O_RDONLY)
        os.fchmod(descriptor, 0o666)

    def change_the_times_of_a_file(self) -> None:
        os.utime(self.outside / "key", (0, 0))

    def change_the_owner_of_a_file(self) -> None:
        os.chown(self.outside / "key", os.getuid(), os.getgid())

    def make_a_program_set_user_id(self) -> None:
        program = Path(os.environ["TMPDIR"], "program")
        program.write_bytes(b"")
        program.chmod(0o4755)

    def create_a_program_set_user_id(self) -> None:
        name = os.environ["TMPDIR"] + "/made"
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o4755))
        assert os.stat(name).st_mode & 0o4000

    def fill_the_disk(self) -> None:
        with open(os.environ["TMPDIR"] + "/large", "wb") as file:
            file.truncate(2 << 30)

    # The network

    def connect_by_tcp(self) -> None:
        socket.create_connection(("127.0.0.1", self.facts["port"]), timeout=5).close()

    def connect_by_tcp_over_ipv6(self) -> None:
        socket.socket(socket.AF_INET6)

    def send_by_udp(self) -> None:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
            b"!", ("127.0.0.1", self.facts["port"])
        )

    def resolve_a_name(self) -> None:
        # As a resolver does it, to a name server on this machine.
        query = b"\x00\x01\x01\x00\x00\x01" + bytes(6) + b"\x01x\x00\x00\x01\x00\x01"
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
            query, ("127.0.0.1", self.facts["port"])
        )

    def connect_by_multipath_tcp(self) -> None:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)  # IPPROTO_MPTCP

    def open_a_packet_socket(self) -> None:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW)

    def open_a_netlink_socket(self) -> None:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)

    def open_a_virtual_machine_socket(self) -> None:
        socket.socket(40, socket.SOCK_STREAM)  # AF_VSOCK

    def connect_to_a_unix_socket(self) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.facts["unix"])

    def connect_to_an_abstract_socket(self) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("\0" + self.facts["abstract"])

    def send_from_half_a_pair(self) -> None:
        one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        one.sendto(b"!", self.facts["datagrams"])

    def call_the_kernel_in_32_bits(self) -> None:
        # mov eax, 359 (socket); mov ebx, 2 (AF_INET); mov ecx, 1; xor edx, edx; int 0x80; ret
        code = bytes.fromhex("53b867010000bb02000000b90100000031d2cd805bc3")
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        if result < 0:
            raise OSError(-result, os.strerror(-result))

    def call_the_kernel_as_x32(self) -> None:
        call(0x40000000 | 41, 0x40000000 | 198, socket.AF_INET, socket.SOCK_STREAM, 0)

    def set_up_io_uring(self) -> None:
        call(425, 425, 4, bytes(120))

    # Other processes, and the kernel

    def signal_the_client(self) -> None:
        os.kill(self.facts["client"], 0)

    def signal_another_process(self) -> None:
        os.kill(self.facts["victim"], signal.SIGCONT)

    def end_the_launcher(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)

    def trace_a_process(self) -> None:
        call(101, 117, 0x4206, self.facts["victim"], 0, 0)  # PTRACE_SEIZE

    def read_the_memory_of_a_process(self) -> None:
        with open(f"/proc/{self.facts['victim']}/mem", "rb"):
            pass

    def limit_another_process(self) -> None:
        limits = resource.prlimit(self.facts["victim"], resource.RLIMIT_CORE)
        resource.prlimit(self.facts["victim"], resource.RLIMIT_CORE, limits)

    def make_a_user_namespace(self) -> None:
        call(272, 97, 0x10000000)  # unshare(CLONE_NEWUSER)

    def clone_into_a_user_namespace(self) -> None:
        process = call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
        if process == 0:
            os._exit(0)

    def mount_a_file_system(self) -> None:
        target = os.environ["TMPDIR"].encode()
        call(165, 40, b"none", target, b"tmpfs", 0, None)

    def change_the_root(self) -> None:
        os.chroot(os.environ["TMPDIR"])

    def use_the_keyring(self) -> None:
        call(250, 219, 0, -3, 1)  # KEYCTL_GET_KEYRING_ID of the session

    def load_a_bpf_program(self) -> None:
        call(321, 280, 0, struct.pack("=IIIIQ", 2, 4, 4, 1, 0) + bytes(100), 120)

    def attach_shared_memory(self) -> None:
        call(29, 194, 0x6D637031, 4096, 0o1600)  # shmget(IPC_CREAT)

    def type_into_the_terminal(self) -> None:
        import fcntl

        try:
            fcntl.ioctl(0, 0x5412, b"x")  # TIOCSTI
        except OSError as error:
            if error.errno == 25:  # not a terminal: the call itself was let through
                return
            raise

    def use_an_inherited_descriptor(self) -> None:
        os.fstat(self.facts["descriptor"])

    def become_root(self) -> None:
        status = Path("/proc/self/status").read_text()
        effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
        if int(effective.split()[1], 16) == 0 and "NoNewPrivs:\t1" in status:
            raise PermissionError("no capability, and no program gives any")

    def drop_the_limits(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def change_how_programs_are_laid_out(self) -> None:
        call(135, 92, 0x0040000)  # personality(ADDR_NO_RANDOMIZE)

    def load_code_into_the_launcher(self) -> None:
        if "LD_PRELOAD" not in os.environ or not Path(os.environ["TMPDIR"], "loaded").exists():
            raise PermissionError("the launcher did not see the server's LD_PRELOAD")

    # Limits

    def make_many_processes(self) -> None:
        for _ in range(40):
            if os.fork() == 0:
                time.sleep(30)

    def use_much_memory(self) -> None:
        blocks = [bytearray(os.urandom(1 << 20) * 64) for _ in range(20)]
        time.sleep(2)
        assert blocks

    def use_much_shared_memory(self) -> None:
        memory = mmap.mmap(-1, 1 << 30)
        for start in range(0, 1 << 30, 4096):
            memory[start] = 1
        time.sleep(2)

    def use_memory_of_no_process(self) -> None:
        call(319, 279, b"mine", 0)  # memfd_create

    def run_for_long(self) -> None:
        time.sleep(20)


WAYS = [name for name in vars(Ways) if not name.startswith("_")]


def main() -> None:
    for way in sys.argv[1].split(","):
        try:
            getattr(Ways(Path(sys.argv[2])), way)()
        except (OSError, ValueError) as error:
            print(f"denied: {error}", flush=True)
        else:
            print("escaped", flush=True)


if __name__ == "__main__":
    main()

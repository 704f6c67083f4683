"""Calls to the Windows API: job objects.

A job object is a group of processes which no descendant can leave. ``taskkill`` finds a tree by
the parent of each process, and so loses the descendants of a process that has ended. A job
counts its members itself. When the last handle to it is closed, even because the program that
held it was killed, the system ends the processes left in it.

This module is imported on Windows only. It never checks the platform, so that its order of calls
is tested everywhere, with a stand-in for the system.
"""

from __future__ import annotations

import ctypes
import errno
from typing import Any, NamedTuple


class WindowsCalls(NamedTuple):
    """The three libraries of the system that are called here, or stand-ins for them."""

    advapi32: Any
    kernel32: Any
    ntdll: Any


def windows_calls() -> WindowsCalls:
    """Return the libraries of this Windows, with the types of the functions called here."""
    load: Any = getattr(ctypes, "WinDLL", None)
    if load is None:
        raise OSError(errno.ENOSYS, "only Windows has job objects and lists of rights")
    address, number, text = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_wchar_p
    # Loaded for this module alone: the types set here affect no other module.
    advapi32, kernel32, ntdll = load("advapi32"), load("kernel32"), load("ntdll")
    read_rights = advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW
    for function, result, arguments in (
        (advapi32.OpenProcessToken, number, [address, number, address]),
        (advapi32.GetTokenInformation, number, [address, number, address, number, address]),
        (advapi32.ConvertSidToStringSidW, number, [address, address]),
        (read_rights, number, [text, number, address, address]),
        (advapi32.SetFileSecurityW, number, [text, number, address]),
        (kernel32.GetCurrentProcess, address, []),
        (kernel32.CloseHandle, number, [address]),
        (kernel32.LocalFree, address, [address]),
        (kernel32.CreateJobObjectW, address, [address, text]),
        (kernel32.SetInformationJobObject, number, [address, number, address, number]),
        (kernel32.QueryInformationJobObject, number, [address, number, address, number, address]),
        (kernel32.AssignProcessToJobObject, number, [address, address]),
        (kernel32.TerminateJobObject, number, [address, number]),
        (kernel32.OpenProcess, address, [number, number, number]),
        (ntdll.NtResumeProcess, ctypes.c_int32, [address]),
    ):
        function.restype, function.argtypes = result, arguments
    return WindowsCalls(advapi32, kernel32, ntdll)


_KILL_ON_JOB_CLOSE = 0x2000
_BASIC_ACCOUNTING, _EXTENDED_LIMITS = 1, 9  # the classes of information to query and to set

# The access rights of a process handle: to end it, to put it into a job, to resume it.
_TERMINATE, _SET_QUOTA, _SUSPEND_RESUME = 0x0001, 0x0100, 0x0800

_EXIT_CODE = 1  # of processes that are ended, as taskkill has it


class _Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = [
        ("times", ctypes.c_int64 * 4),
        ("page_faults", ctypes.c_uint32),
        ("total_processes", ctypes.c_uint32),
        ("active_processes", ctypes.c_uint32),
        ("terminated_processes", ctypes.c_uint32),
    ]


class _JobLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = [
        ("times", ctypes.c_int64 * 2),
        ("flags", ctypes.c_uint32),
        ("working_set", ctypes.c_size_t * 2),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32 * 2),
        ("transfers", ctypes.c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    ]


class Job:
    """A process and all that descend from it. No method raises; none does anything once closed."""

    def __init__(self, kernel32: Any, handle: int) -> None:
        self._kernel32 = kernel32
        self._handle: int | None = handle

    def kill(self) -> None:
        if self._handle is not None:
            self._kernel32.TerminateJobObject(self._handle, _EXIT_CODE)

    def is_empty(self) -> bool:
        """Whether all have ended."""
        counts = _Accounting()
        size = ctypes.sizeof(counts)
        answered = self._handle is not None and self._kernel32.QueryInformationJobObject(
            self._handle, _BASIC_ACCOUNTING, ctypes.byref(counts), size, None
        )
        return not answered or counts.active_processes == 0

    def close(self) -> None:
        """End every process, and forget them. Idempotent."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._kernel32.CloseHandle(handle)


def contain(pid: int, calls: WindowsCalls) -> Job | None:
    """Put process ``pid``, which was started suspended, into a job of its own, and resume it.

    Returns None where the system refuses the job (inside a job that permits none within it, before
    Windows 8); the process then runs all the same. It has run nothing before, so all it will ever
    start is in the job.
    """
    _, kernel32, ntdll = calls
    process = kernel32.OpenProcess(_TERMINATE | _SET_QUOTA | _SUSPEND_RESUME, 0, pid)
    try:
        job: int | None = kernel32.CreateJobObjectW(None, None)
        if job is not None:
            limits = _JobLimits(flags=_KILL_ON_JOB_CLOSE)
            size = ctypes.sizeof(limits)
            kernel32.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), size)
        if job is not None and not kernel32.AssignProcessToJobObject(job, process):
            kernel32.CloseHandle(job)
            job = None
        ntdll.NtResumeProcess(process)
    finally:
        kernel32.CloseHandle(process)
    return None if job is None else Job(kernel32, job)

"""Lists of rights: by them Windows decides who may read a file.

A file has the rights that its folder hands down. In the user's own folder those are good; in one
made at the top of a drive, whoever may log in to the machine can read it.

This module is imported on Windows alone. It decides nothing by platform, so that its calls are
tested everywhere, with a stand-in for the system.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

# What is set of a file's security: its list of rights, to which its folder adds none.
_RIGHTS, _OWN_ONLY = 0x00000004, 0x80000000
_REVISION = 1  # of the language that rights are written in
_QUERY, _TOKEN_USER = 0x0008, 1
_MAX_USER_SIZE = 256  # bytes for a user's identifier and what leads to it


class WindowsSecurity(NamedTuple):
    """The two libraries of the system that are called here, or stand-ins for them."""

    advapi32: Any
    kernel32: Any


def windows_security() -> WindowsSecurity:
    """Return the libraries of this Windows, with the types of what is called here."""
    address, number, text = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_wchar_p
    # Loaded for this module alone: the types set here concern nobody else.
    load: Any = getattr(ctypes, "WinDLL")  # noqa: B009 - only Windows has it
    advapi32, kernel32 = load("advapi32"), load("kernel32")
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
    ):
        function.restype, function.argtypes = result, arguments
    return WindowsSecurity(advapi32, kernel32)


def take_from_others(path: str, calls: WindowsSecurity) -> None:
    """Leave a file to the user of this process, the administrators and the system.

    What Windows refuses leaves the file as it is.
    """
    user = _user(calls)
    descriptor = ctypes.c_void_p()
    is_understood = user and calls.advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
        f"D:P(A;;FA;;;{user})(A;;FA;;;BA)(A;;FA;;;SY)", _REVISION, ctypes.byref(descriptor), None
    )
    if is_understood:
        calls.advapi32.SetFileSecurityW(path, _RIGHTS | _OWN_ONLY, descriptor)
        calls.kernel32.LocalFree(descriptor)


def _user(calls: WindowsSecurity) -> str:
    """Return the identifier of the user of this process; empty when Windows does not tell."""
    advapi32, kernel32 = calls
    token, size = ctypes.c_void_p(), ctypes.c_uint32()
    if not advapi32.OpenProcessToken(kernel32.GetCurrentProcess(), _QUERY, ctypes.byref(token)):
        return ""
    # It begins with the address of the identifier, which stands behind it.
    answer = ctypes.create_string_buffer(_MAX_USER_SIZE)
    text = ctypes.c_wchar_p()
    is_known = advapi32.GetTokenInformation(
        token, _TOKEN_USER, answer, _MAX_USER_SIZE, ctypes.byref(size)
    ) and advapi32.ConvertSidToStringSidW(ctypes.c_void_p.from_buffer(answer), ctypes.byref(text))
    kernel32.CloseHandle(token)
    if not is_known:
        return ""
    user = text.value or ""
    kernel32.LocalFree(text)
    return user

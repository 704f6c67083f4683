"""Who may read a file: its owner alone, by its mode, and on Windows by a list of rights.

On Windows a file has the rights that its folder hands down. In the user's own folder those are
good; in one made at the top of a drive, whoever may log in to the machine can read it.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

__all__ = ["SecurityCalls", "make_private", "take_from_others"]

# What a descriptor of a file's security is asked for, or given: the list of rights, of which none
# is handed down by the folder.
_RIGHTS, _OWN_ONLY = 0x00000004, 0x80000000
_REVISION = 1  # of the language that rights are written in
_QUERY, _TOKEN_USER = 0x0008, 1
_LONGEST_USER = 256  # bytes for a user's identifier and what leads to it


def make_private(path: str | os.PathLike[str]) -> None:
    """Take a file from everybody but its owner: mode 0600. Raises `OSError` if it is another's.

    On Windows the administrators and the system keep their rights; where the file system knows
    none, such as on a memory stick, nothing happens.
    """
    if sys.platform == "win32":
        take_from_others(os.fspath(path), security_calls())
    else:
        os.chmod(path, 0o600)


class SecurityCalls(NamedTuple):
    """The two libraries of Windows that are called here, or stand-ins for them."""

    advapi32: Any
    kernel32: Any


def security_calls() -> SecurityCalls:
    """Return the libraries of this Windows, with the types of what is called here."""
    import ctypes

    address, number, text = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_wchar_p
    # Loaded for this module alone: the types set here concern nobody else.
    load: Any = getattr(ctypes, "WinDLL")  # noqa: B009 - only Windows has it
    advapi32, kernel32 = load("advapi32"), load("kernel32")
    for function, arguments in (
        (advapi32.OpenProcessToken, [address, number, address]),
        (advapi32.GetTokenInformation, [address, number, address, number, address]),
        (advapi32.ConvertSidToStringSidW, [address, address]),
        (
            advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW,
            [text, number, address, address],
        ),
        (advapi32.SetFileSecurityW, [text, number, address]),
        (kernel32.CloseHandle, [address]),
    ):
        function.restype, function.argtypes = number, arguments
    kernel32.GetCurrentProcess.restype = address
    kernel32.LocalFree.restype, kernel32.LocalFree.argtypes = address, [address]
    return SecurityCalls(advapi32, kernel32)


def take_from_others(path: str, calls: SecurityCalls) -> None:
    """Leave a file to the user of this process, the administrators and the system."""
    import ctypes

    user = _user(calls)
    descriptor = ctypes.c_void_p()
    understood = user and calls.advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
        f"D:P(A;;FA;;;{user})(A;;FA;;;BA)(A;;FA;;;SY)", _REVISION, ctypes.byref(descriptor), None
    )
    if understood:
        calls.advapi32.SetFileSecurityW(path, _RIGHTS | _OWN_ONLY, descriptor)
        calls.kernel32.LocalFree(descriptor)


def _user(calls: SecurityCalls) -> str:
    """Return the identifier of the user of this process; empty when Windows does not tell."""
    import ctypes

    advapi32, kernel32 = calls
    token, size = ctypes.c_void_p(), ctypes.c_uint32()
    if not advapi32.OpenProcessToken(kernel32.GetCurrentProcess(), _QUERY, ctypes.byref(token)):
        return ""
    # It begins with the address of the identifier, which stands behind it.
    answer = ctypes.create_string_buffer(_LONGEST_USER)
    text = ctypes.c_wchar_p()
    is_known = advapi32.GetTokenInformation(
        token, _TOKEN_USER, answer, _LONGEST_USER, ctypes.byref(size)
    ) and advapi32.ConvertSidToStringSidW(ctypes.c_void_p.from_buffer(answer), ctypes.byref(text))
    kernel32.CloseHandle(token)
    if not is_known:
        return ""
    user = text.value or ""
    kernel32.LocalFree(text)
    return user

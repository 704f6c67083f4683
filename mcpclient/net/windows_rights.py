"""Access control lists of files on Windows.

A file inherits the access rights of its folder. In the user's own folder those are fine; in one at
the top of a drive, every user of the machine can read it. Like `windows`, this never checks the
platform.
"""

from __future__ import annotations

import ctypes

from .windows import WindowsCalls

# The parts of a file's security to set: its access control list, without inherited entries.
_RIGHTS, _OWN_ONLY = 0x00000004, 0x80000000


_REVISION = 1  # of the security descriptor language (SDDL)


_QUERY, _TOKEN_USER = 0x0008, 1


_MAX_USER_SIZE = 256  # bytes for a user's identifier and what leads to it


def take_from_others(path: str, calls: WindowsCalls) -> None:
    """Restrict a file to the user of this process, the administrators and the system.

    The file stays unchanged if Windows refuses.
    """
    user = _user(calls)
    descriptor = ctypes.c_void_p()
    is_understood = user and calls.advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
        f"D:P(A;;FA;;;{user})(A;;FA;;;BA)(A;;FA;;;SY)", _REVISION, ctypes.byref(descriptor), None
    )
    if is_understood:
        calls.advapi32.SetFileSecurityW(path, _RIGHTS | _OWN_ONLY, descriptor)
        calls.kernel32.LocalFree(descriptor)


def _user(calls: WindowsCalls) -> str:
    """Return the identifier (SID) of the user of this process; empty when the query fails."""
    advapi32, kernel32, _ = calls
    token, size = ctypes.c_void_p(), ctypes.c_uint32()
    if not advapi32.OpenProcessToken(kernel32.GetCurrentProcess(), _QUERY, ctypes.byref(token)):
        return ""
    # It begins with the address of the identifier, which follows it.
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

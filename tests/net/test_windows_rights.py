"""Lists of rights: the order of calls with a stand-in everywhere, and real ones on Windows."""

from __future__ import annotations

import asyncio
import ctypes
from pathlib import Path
from typing import Any

import pytest

from mcpclient.net.files import change_file
from mcpclient.net.login.storage import FileStore
from mcpclient.net.recorder import Recorder
from mcpclient.net.windows import WindowsCalls, windows_calls
from mcpclient.net.windows_rights import take_from_others
from tests.support.pointers import pointed_at


class Windows:
    """The answers of advapi32 and kernel32; ``refusing`` names the calls that fail."""

    def __init__(self, *refusing: str) -> None:
        self.refusing = refusing
        self.calls: list[str] = []
        self.given: list[str | int] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            self.given += [argument for argument in arguments if isinstance(argument, (str, int))]
            if name == "ConvertSidToStringSidW" and name not in self.refusing:
                pointed_at(arguments[1]).value = "S-1-5-21-7"
            return int(name not in self.refusing)

        return call

    def take(self) -> None:
        take_from_others("a file", WindowsCalls(self, self, self))


def test_the_file_is_left_to_its_user_and_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: nothing that its folder hands down counts any more; all handles are given back."""
    windows = Windows()
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: windows, raising=False)
    take_from_others("a file", windows_calls())
    assert windows.given == [
        *(1, 0x0008, 1, 256),  # this process, TOKEN_QUERY, TokenUser, bytes for it
        *("D:P(A;;FA;;;S-1-5-21-7)(A;;FA;;;BA)(A;;FA;;;SY)", 1),  # SDDL_REVISION_1
        *("a file", 0x80000004),  # PROTECTED_DACL_SECURITY_INFORMATION, DACL_…
    ]
    assert windows.calls == [
        "GetCurrentProcess",
        "OpenProcessToken",
        "GetTokenInformation",
        "ConvertSidToStringSidW",
        "CloseHandle",
        "LocalFree",
        "ConvertStringSecurityDescriptorToSecurityDescriptorW",
        "SetFileSecurityW",
        "LocalFree",
    ]


@pytest.mark.parametrize(
    ("refused", "last"),
    [
        ("OpenProcessToken", "OpenProcessToken"),
        ("GetTokenInformation", "CloseHandle"),
        ("ConvertSidToStringSidW", "CloseHandle"),
        (
            "ConvertStringSecurityDescriptorToSecurityDescriptorW",
            "ConvertStringSecurityDescriptorToSecurityDescriptorW",
        ),
        ("SetFileSecurityW", "LocalFree"),
    ],
)
def test_what_windows_refuses_leaves_the_file_as_it_is(refused: str, last: str) -> None:
    """F-AUTH-9: and nothing stays allocated."""
    windows = Windows(refused)
    windows.take()
    assert windows.calls[-1] == last


def rights_of(path: Path) -> str:
    """Return the rights to a file in the words of Windows."""
    calls = windows_calls()
    size = ctypes.c_uint32()
    descriptor = ctypes.create_string_buffer(4096)
    rights, text = 4, ctypes.c_wchar_p()
    assert calls.advapi32.GetFileSecurityW(
        str(path), rights, descriptor, len(descriptor), ctypes.byref(size)
    )
    assert calls.advapi32.ConvertSecurityDescriptorToStringSecurityDescriptorW(
        descriptor, 1, rights, ctypes.byref(text), None
    )
    assert text.value is not None
    return text.value


@pytest.mark.needs_windows
def test_private_files_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9, F-AUTH-12: credentials, traces and agreements; other files keep their rights."""
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    public = tmp_path / "public"
    change_file(public, lambda content: b"x", limit=10)
    Recorder(tmp_path / "trace").stderr_line("x")
    asyncio.run(FileStore(tmp_path / "credentials").save("a", {}))
    change_file(tmp_path / "approvals", lambda content: b"x", limit=10, private=True)
    everybody, users = ";;;WD)", ";;;BU)"
    for name in ("trace", "credentials", "approvals"):
        rights = rights_of(tmp_path / name)
        assert rights.count(";FA;;;") >= 1, rights
        assert everybody not in rights and users not in rights, rights
        assert (tmp_path / name).read_bytes()
    assert rights_of(public) != rights_of(tmp_path / "trace")

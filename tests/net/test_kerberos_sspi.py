"""SSPI: the order of calls with a stand-in for Windows."""

from __future__ import annotations

import ctypes
import gc
import struct
from typing import Any

import pytest

from mcpclient.errors import AuthError, UsageError
from mcpclient.net.kerberos import SspiContext, sspi_library
from tests.support.pointers import pointed_at


class SecBuffer(ctypes.Structure):
    """The structure of Windows that a message is passed in."""

    _fields_ = (("size", ctypes.c_uint32), ("kind", ctypes.c_uint32), ("data", ctypes.c_void_p))


class Windows:
    """secur32, whose contexts take two messages; ``statuses``: what functions answer."""

    def __init__(self, **statuses: int) -> None:
        self.statuses = statuses
        self.calls: list[str] = []
        self.targets: list[str] = []
        self.inputs: list[list[tuple[int, bytes]]] = []
        self.contexts: list[bool] = []
        self._made = ctypes.create_string_buffer(b"first", 5)

    def AcquireCredentialsHandleW(self, *arguments: Any) -> int:
        self.calls.append("Acquire")
        assert arguments[1:3] == ("Negotiate", 2)
        pointed_at(arguments[7]).lower = 7
        return self.statuses.get("Acquire", 0)

    def InitializeSecurityContextW(self, *arguments: Any) -> int:
        credentials, before, target, asked, _, _, given, _, after, made, flags, _ = arguments
        self.calls.append("Initialize")
        assert (pointed_at(credentials).lower, asked) == (7, 0x102)
        self.targets.append(target)
        self.contexts.append(before is not None)
        pointed_at(after).lower = 8
        pointed_at(flags).value = 2
        self.inputs.append([])
        if given is not None:
            given = pointed_at(given)
            buffers = ctypes.cast(given.buffers, ctypes.POINTER(SecBuffer))
            self.inputs[-1] = [
                (buffers[index].kind, ctypes.string_at(buffers[index].data, buffers[index].size))
                for index in range(given.count)
            ]
        if "Initialize" in self.statuses:
            return self.statuses["Initialize"]
        if before is not None:
            return 0
        answer = ctypes.cast(pointed_at(made).buffers, ctypes.POINTER(SecBuffer))[0]
        answer.size, answer.data = 5, ctypes.addressof(self._made)
        return 0x00090312

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = lambda *arguments: self.calls.append(name) or 0  # type: ignore[func-returns-value]
        return self.__dict__[name]


def test_a_login_of_two_messages() -> None:
    """F-HTTP-15: bound to the certificate; everything is freed."""
    windows = Windows()
    context = SspiContext(windows, "h.example", b"binding")
    assert context.step(b"") == b"first"
    assert not context.is_complete
    assert context.step(b"proof") == b""
    assert context.is_complete and context.is_mutual
    assert windows.targets == ["HTTP/h.example"] * 2
    assert windows.contexts == [False, True]
    head = struct.pack("<8I", 0, 0, 0, 0, 0, 0, 7, 32)
    assert windows.inputs == [[(14, head + b"binding")], [(2, b"proof"), (14, head + b"binding")]]
    del context
    gc.collect()
    expected = ["Acquire", "Initialize", "FreeContextBuffer", "Initialize"]
    assert windows.calls == [*expected, "DeleteSecurityContext", "FreeCredentialsHandle"]


def test_without_tls_there_is_no_binding() -> None:
    """F-HTTP-15"""
    windows = Windows()
    SspiContext(windows, "h", b"").step(b"")
    assert windows.inputs == [[]]


@pytest.mark.parametrize("function", ["Acquire", "Initialize"])
def test_a_failure_names_the_service_and_the_status(function: str) -> None:
    """F-HTTP-15: what was made is freed all the same."""
    windows = Windows(**{function: 0x8009030E - (1 << 32)})  # as a C int
    context = SspiContext(windows, "h", b"")
    with pytest.raises(
        AuthError, match=r"Negotiate with HTTP/h failed: .*\(0x8009030e\)"
    ) as caught:
        context.step(b"")
    del context, caught
    gc.collect()
    assert ("FreeCredentialsHandle" in windows.calls) == (function == "Initialize")


def test_only_windows_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15: elsewhere the error names the library."""
    monkeypatch.delattr(ctypes, "WinDLL", raising=False)
    with pytest.raises(UsageError, match=r"needs secur32\.dll of Windows"):
        sspi_library()
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: f"{name} of Windows", raising=False)
    assert sspi_library() == "secur32 of Windows"

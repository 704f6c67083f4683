"""GSSAPI: the order of calls with a stand-in for the library."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import pytest

from mcpclient.errors import AuthError, UsageError
from mcpclient.net import kerberos
from mcpclient.net.kerberos import GssContext, gssapi_library
from tests.support.pointers import pointed_at


def content(buffer: Any) -> bytes:
    return ctypes.string_at(buffer.value, buffer.length)


class Library:
    """A GSSAPI whose contexts take two messages; ``failing``: statuses of functions."""

    def __init__(self, **failing: int) -> None:
        self.failing = failing
        self.calls: list[str] = []
        self.names: list[bytes] = []
        self.given: list[bytes] = []
        self.bindings: list[bytes] = []
        self.sizes: set[int] = set()
        self._made: list[Any] = []

    def _fill(self, buffer: Any, made: bytes) -> None:
        self._made.append(ctypes.create_string_buffer(made, len(made)))
        buffer.length = len(made)
        buffer.value = ctypes.addressof(self._made[-1])

    def gss_import_name(self, minor: Any, name: Any, kind: Any, out: Any) -> int:
        self.calls.append("import")
        self.names.append(content(pointed_at(name)))
        kind = pointed_at(kind)
        assert ctypes.string_at(kind.elements, kind.length).hex().startswith("2a8648")
        self.sizes.add(ctypes.sizeof(kind))
        if not self.failing.get("import"):
            pointed_at(out).value = 7
        return self.failing.get("import", 0)

    def gss_init_sec_context(self, *arguments: Any) -> int:
        minor, _, context, name, _, asked, _, bindings, given, _, made, flags, _ = arguments
        self.calls.append("init")
        assert (name.value, asked) == (7, 2)
        if bindings is not None:
            bindings = pointed_at(bindings)
            self.sizes.add(ctypes.sizeof(bindings))
        self.bindings.append(b"" if bindings is None else content(bindings.application))
        self.given.append(content(pointed_at(given)))
        pointed_at(context).value = 8
        pointed_at(flags).value = 2
        pointed_at(minor).value = self.failing.get("minor", 0)
        if "init" in self.failing:
            return self.failing["init"]
        self._fill(pointed_at(made), b"first" if len(self.given) == 1 else b"")
        return 1 if len(self.given) == 1 else 0

    def gss_display_status(
        self, minor: Any, code: int, kind: int, mechanism: Any, more: Any, text: Any
    ) -> int:
        self._fill(
            pointed_at(text), b"" if code == 99 else b"status %d of %d\0" % (code >> 16, kind)
        )
        return 0

    def __getattr__(self, name: str) -> Any:
        def release(*arguments: Any) -> int:
            self.calls.append(name)
            return 0

        if name.startswith("__"):
            raise AttributeError(name)
        return release


def test_a_login_of_two_messages() -> None:
    """F-HTTP-15: the last one proves who the server is; everything is released."""
    library = Library()
    context = GssContext(library, "h.example", b"tls-server-end-point:x")
    assert context.step(b"") == b"first"
    assert not context.is_complete
    assert context.step(b"proof") == b""
    assert context.is_complete and context.is_mutual
    assert library.names == [b"HTTP@h.example"]
    assert library.given == [b"", b"proof"]
    assert library.bindings == [b"tls-server-end-point:x"] * 2
    if sys.platform == "linux" and sys.maxsize > 1 << 32:  # macOS on Intel packs them
        assert library.sizes == {16, 64}
    del context
    gc.collect()
    assert library.calls[-2:] == ["gss_delete_sec_context", "gss_release_name"]


def test_without_tls_there_is_no_binding() -> None:
    """F-HTTP-15"""
    library = Library()
    GssContext(library, "h", b"").step(b"")
    assert library.bindings == [b""]


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ({"import": 3 << 16}, "status 3 of 1"),
        ({"init": 7 << 16}, "status 7 of 1"),
        ({"init": 7 << 16, "minor": 5 << 16}, "status 5 of 2"),
        ({"init": 7 << 16, "minor": 99}, "0x63"),
    ],
)
def test_a_failure_is_in_the_words_of_the_library(failing: dict[str, int], told: str) -> None:
    """F-HTTP-15"""
    library = Library(**failing)
    context = GssContext(library, "h", b"")
    with pytest.raises(AuthError) as caught:
        context.step(b"")
    assert str(caught.value) == f"Negotiate with HTTP@h failed: {told}"
    del context, caught
    gc.collect()


def test_nothing_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15: the error names it."""
    monkeypatch.setattr(kerberos, "_LIBRARIES", ("libmissing-1.so", "libmissing-2.so"))
    with pytest.raises(UsageError, match=r"none of libmissing-1\.so, libmissing-2\.so") as caught:
        gssapi_library()
    assert "libgssapi-krb5-2" in caught.value.hint


def test_the_first_library_that_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15"""

    def load(name: str) -> str:
        tried.append(name)
        if len(tried) == 1:
            raise OSError
        return f"loaded {name}"

    tried: list[str] = []
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert gssapi_library() == f"loaded {tried[1]}"
    assert tried[0] != tried[1]

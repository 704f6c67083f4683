"""Security contexts of the system's GSSAPI by SPNEGO (RFC 2743, 2744 and 4178).

The libraries are those of MIT Kerberos and Heimdal, and the framework of macOS.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from contextlib import suppress
from typing import Any

from ..errors import AuthError, UsageError

_LIBRARIES = (
    "libgssapi_krb5.so.2",
    "libgssapi.so.3",
    "/System/Library/Frameworks/GSS.framework/GSS",
)
_MUTUAL = 2  # GSS_C_MUTUAL_FLAG
_CONTINUE = 1  # GSS_S_CONTINUE_NEEDED
_ERRORS = 0xFFFF0000  # the calling and the routine errors in a major status
_OF_GSS, _OF_MECHANISM = 1, 2

_number, _address = ctypes.c_uint32, ctypes.c_void_p


class _Packed(ctypes.Structure):
    """A structure that the headers of macOS pack to two bytes, but for Apple silicon."""

    if sys.platform == "darwin" and platform.machine() == "x86_64":
        _pack_ = 2
        _layout_ = "ms"  # what Python 3.14 calls such a packing


class _Buffer(ctypes.Structure):
    """gss_buffer_desc. The bytes have to outlive it."""

    _fields_ = (("length", ctypes.c_size_t), ("value", _address))

    @classmethod
    def of(cls, content: bytes) -> _Buffer:
        return cls(len(content), ctypes.cast(ctypes.c_char_p(content), _address))


class _Identifier(_Packed):
    """gss_OID_desc."""

    _fields_ = (("length", _number), ("elements", _address))

    @classmethod
    def of(cls, content: bytes) -> _Identifier:
        return cls(len(content), ctypes.cast(ctypes.c_char_p(content), _address))


class _Bindings(_Packed):
    """gss_channel_bindings_struct, without the addresses."""

    _fields_ = (
        *(("initiator_type", _number), ("initiator", _Buffer)),
        *(("acceptor_type", _number), ("acceptor", _Buffer)),
        ("application", _Buffer),
    )


_SPNEGO = bytes.fromhex("2b0601050502")  # 1.3.6.1.5.5.2
_SERVICE_NAME = bytes.fromhex("2a864886f71201020104")  # 1.2.840.113554.1.2.1.4


def gssapi_library() -> Any:
    """Return the library of this system. Raises `UsageError`.

    Its functions need no types here: they are given structures, addresses and small numbers.
    """
    for name in _LIBRARIES:
        with suppress(OSError):
            return ctypes.CDLL(name)
    raise UsageError(
        f"Negotiate needs the GSSAPI of this system; none of {', '.join(_LIBRARIES)} can be loaded"
    ).advise("Install it: libgssapi-krb5-2 of Debian and Ubuntu, krb5-libs of Fedora and Red Hat.")


class GssContext:
    """One authentication of the user to the service HTTP of ``host``, as seen by the user.

    ``binding``: the application data of the channel binding; empty for none. ``is_complete``: the
    server has accepted. ``is_mutual``: the server has proved its identity as well.
    """

    def __init__(self, library: Any, host: str, binding: bytes) -> None:
        self.is_complete: bool = False
        self.is_mutual: bool = False
        self._library = library
        self._host = host
        self._binding = binding
        self._context, self._name = _address(), _address()
        self._minor = _number()

    def step(self, token: bytes) -> bytes:
        """Return the next message for the server, whose last one is ``token``. Raises `AuthError`.

        The first step may ask the key distribution center, and block for seconds.
        """
        library, minor, by = self._library, self._minor, ctypes.byref
        if not self._name:
            name = _Buffer.of(f"HTTP@{self._host}".encode())
            kind = _Identifier.of(_SERVICE_NAME)
            self._check(library.gss_import_name(by(minor), by(name), by(kind), by(self._name)))
        bindings = _Bindings(application=_Buffer.of(self._binding))
        flags, given, made = _number(), _Buffer.of(token), _Buffer()
        major = library.gss_init_sec_context(
            *(by(minor), None, by(self._context), self._name, by(_Identifier.of(_SPNEGO))),
            *(_MUTUAL, 0, by(bindings) if self._binding else None, by(given)),
            *(None, by(made), by(flags), None),
        )
        answer = ctypes.string_at(made.value, made.length) if made.length else b""
        library.gss_release_buffer(by(_number()), by(made))
        self._check(major)
        self.is_complete = not major & _CONTINUE
        self.is_mutual = bool(flags.value & _MUTUAL)
        return answer

    def _check(self, major: int) -> None:
        if major & _ERRORS:
            minor = self._minor.value
            told = self._told(minor, _OF_MECHANISM) if minor else self._told(major, _OF_GSS)
            raise AuthError(f"Negotiate with HTTP@{self._host} failed: {told}")

    def _told(self, code: int, kind: int) -> str:
        text, more, minor, by = _Buffer(), _number(), _number(), ctypes.byref
        mechanism = _Identifier.of(_SPNEGO)
        self._library.gss_display_status(by(minor), code, kind, by(mechanism), by(more), by(text))
        told = ctypes.string_at(text.value, text.length) if text.length else b"%#x" % code
        self._library.gss_release_buffer(by(minor), by(text))
        return told.rstrip(b"\0").decode("utf-8", "replace")

    def __del__(self) -> None:  # a thread may still be in `step` when its caller has gone
        minor, by = _number(), ctypes.byref
        if self._context:
            self._library.gss_delete_sec_context(by(minor), by(self._context), None)
        if self._name:
            self._library.gss_release_name(by(minor), by(self._name))

"""Security contexts of Windows by its package Negotiate (SSPI): Kerberos, or NTLM."""

from __future__ import annotations

import ctypes
from typing import Any

from ..errors import AuthError, UsageError

_OUTBOUND = 2  # SECPKG_CRED_OUTBOUND
_MUTUAL, _ALLOCATE = 0x2, 0x100  # ISC_REQ_MUTUAL_AUTH, ISC_REQ_ALLOCATE_MEMORY
_CONTINUE = 0x00090312  # SEC_I_CONTINUE_NEEDED
_TOKEN, _CHANNEL_BINDINGS = 2, 14  # kinds of buffers
_BINDINGS_HEAD = 32  # bytes of SEC_CHANNEL_BINDINGS before its data

_number, _address = ctypes.c_uint32, ctypes.c_void_p


class _Handle(ctypes.Structure):
    """SecHandle."""

    _fields_ = (("lower", ctypes.c_size_t), ("upper", ctypes.c_size_t))


class _Buffer(ctypes.Structure):
    """SecBuffer. The bytes have to outlive it."""

    _fields_ = (("size", _number), ("kind", _number), ("data", _address))

    @classmethod
    def of(cls, kind: int, content: bytes) -> _Buffer:
        return cls(len(content), kind, ctypes.cast(ctypes.c_char_p(content), _address))


class _Buffers(ctypes.Structure):
    """SecBufferDesc."""

    _fields_ = (("version", _number), ("count", _number), ("buffers", _address))


def sspi_library() -> Any:
    """Return the library of this Windows. Raises `UsageError`.

    Its functions need no types here: they are given structures, addresses and small numbers.
    """
    try:
        return ctypes.WinDLL("secur32")  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        raise UsageError("Negotiate needs secur32.dll of Windows, which cannot be loaded") from None


class SspiContext:
    """The same as `gssapi.GssContext`, by SSPI."""

    def __init__(self, library: Any, host: str, binding: bytes) -> None:
        self.is_complete: bool = False
        self.is_mutual: bool = False
        self._library = library
        self._host = host
        self._binding = binding
        self._credentials: _Handle | None = None
        self._context: _Handle | None = None

    def step(self, token: bytes) -> bytes:
        """Return the next message for the server, whose last one is ``token``. Raises `AuthError`.

        The first step may ask the domain controller, and block for seconds.
        """
        library, by = self._library, ctypes.byref
        expiry, flags, made = ctypes.c_int64(), _number(), _Buffer(0, _TOKEN, None)
        if self._credentials is None:
            credentials = _Handle()
            self._check(
                library.AcquireCredentialsHandleW(
                    *(None, "Negotiate", _OUTBOUND, None, None, None, None),
                    *(by(credentials), by(expiry)),
                )
            )
            self._credentials = credentials
        given = [_Buffer.of(_TOKEN, token)] if token else []
        if self._binding:
            head = (ctypes.c_uint32 * 8)(0, 0, 0, 0, 0, 0, len(self._binding), _BINDINGS_HEAD)
            given.append(_Buffer.of(_CHANNEL_BINDINGS, bytes(head) + self._binding))
        inputs = (_Buffer * len(given))(*given)
        before, after = self._context, self._context or _Handle()
        status = library.InitializeSecurityContextW(
            *(by(self._credentials), by(before) if before else None, f"HTTP/{self._host}"),
            *(_MUTUAL | _ALLOCATE, 0, 0),
            by(_Buffers(0, len(given), ctypes.cast(inputs, _address))) if given else None,
            *(0, by(after), by(_Buffers(0, 1, ctypes.cast(ctypes.pointer(made), _address)))),
            *(by(flags), by(expiry)),
        )
        answer = ctypes.string_at(made.data, made.size) if made.size else b""
        if made.data:
            library.FreeContextBuffer(_address(made.data))
        self._check(status)
        self._context = after
        self.is_complete = status != _CONTINUE
        self.is_mutual = bool(flags.value & _MUTUAL)
        return answer

    def _check(self, status: int) -> None:
        if status < 0:
            told, code = getattr(ctypes, "FormatError", hex)(status), status & 0xFFFFFFFF
            raise AuthError(f"Negotiate with HTTP/{self._host} failed: {told} ({code:#x})")

    def __del__(self) -> None:  # a thread may still be in `step` when its caller has gone
        if self._context is not None:
            self._library.DeleteSecurityContext(ctypes.byref(self._context))
        if self._credentials is not None:
            self._library.FreeCredentialsHandle(ctypes.byref(self._credentials))

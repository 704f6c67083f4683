"""Logins by Negotiate (RFC 4559), at servers and at proxies.

A login at a server begins with a 401, whose connection tells the certificate for the channel
binding (RFC 5929). Where one message was enough, as with Kerberos, each request from then on
carries one. A login of several messages, as with NTLM, stays on its connection.

The messages are made by the system: on Windows by its package Negotiate (SSPI), elsewhere by GSSAPI
with SPNEGO (RFC 2743, 2744 and 4178): MIT Kerberos, Heimdal, or the framework of macOS.
"""

from __future__ import annotations

import abc
import base64
import hashlib
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable

from ..errors import AuthError, UsageError, built_without
from ..framing.der import signature_hash
from ..framing.uri import Url, parse_url
from .exchange import Authorizer
from .futures import call_in_thread

try:
    import ctypes
except ImportError:
    raise built_without("ctypes", "Negotiate") from None

_MUTUAL = 2  # GSS_C_MUTUAL_FLAG and ISC_REQ_MUTUAL_AUTH

_number, _address = ctypes.c_uint32, ctypes.c_void_p


class SecurityContext(abc.ABC):
    """One authentication of the user to the service HTTP of ``host``, as seen by the user.

    ``library``: of this system; its functions need no types here, since they are given structures,
    addresses and small numbers. ``binding``: the application data of the channel binding; empty for
    none. ``is_complete``: the server has accepted. ``is_mutual``: the server has proved its
    identity as well.
    """

    def __init__(self, library: Any, host: str, binding: bytes) -> None:
        self.is_complete: bool = False
        self.is_mutual: bool = False
        self._library = library
        self._host = host
        self._binding = binding

    @abc.abstractmethod
    def step(self, token: bytes) -> bytes:
        """Return the next message for the server, whose last one is ``token``. Raises `AuthError`.

        The first step may ask the key distribution center, and block for seconds.
        """


@lru_cache(maxsize=1)
def context_maker(platform: str = sys.platform) -> Callable[[str, bytes], SecurityContext]:
    """Return the maker of contexts for a host and a channel binding. Raises `UsageError`."""
    if platform == "win32":
        windows = sspi_library()
        return lambda host, binding: SspiContext(windows, host, binding)
    library = gssapi_library()
    return lambda host, binding: GssContext(library, host, binding)


# GSSAPI

_LIBRARIES = (
    "libgssapi_krb5.so.2",
    "libgssapi.so.3",
    "/System/Library/Frameworks/GSS.framework/GSS",
)
_GSS_CONTINUE = 1  # GSS_S_CONTINUE_NEEDED
_ERRORS = 0xFFFF0000  # the calling and the routine errors in a major status
_OF_GSS, _OF_MECHANISM = 1, 2


class _Packed(ctypes.Structure):
    """A structure that the headers of macOS pack to two bytes, but for Apple silicon."""

    if sys.platform == "darwin" and platform.machine() == "x86_64":
        _pack_ = 2
        _layout_ = "ms"  # what Python 3.14 calls such a packing


class _GssBuffer(ctypes.Structure):
    """gss_buffer_desc. The bytes have to outlive it."""

    _fields_ = (("length", ctypes.c_size_t), ("value", _address))

    @classmethod
    def of(cls, content: bytes) -> _GssBuffer:
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
        *(("initiator_type", _number), ("initiator", _GssBuffer)),
        *(("acceptor_type", _number), ("acceptor", _GssBuffer)),
        ("application", _GssBuffer),
    )


_SPNEGO = bytes.fromhex("2b0601050502")  # 1.3.6.1.5.5.2
_SERVICE_NAME = bytes.fromhex("2a864886f71201020104")  # 1.2.840.113554.1.2.1.4


def gssapi_library() -> Any:
    """Return the library of this system. Raises `UsageError`."""
    for name in _LIBRARIES:
        with suppress(OSError):
            return ctypes.CDLL(name)
    raise UsageError(
        f"Negotiate needs the GSSAPI of this system; none of {', '.join(_LIBRARIES)} can be loaded"
    ).advise("Install it: libgssapi-krb5-2 of Debian and Ubuntu, krb5-libs of Fedora and Red Hat.")


class GssContext(SecurityContext):
    """An authentication by GSSAPI."""

    def __init__(self, library: Any, host: str, binding: bytes) -> None:
        super().__init__(library, host, binding)
        self._context, self._name = _address(), _address()
        self._minor = _number()

    def step(self, token: bytes) -> bytes:
        library, minor, by = self._library, self._minor, ctypes.byref
        if not self._name:
            name = _GssBuffer.of(f"HTTP@{self._host}".encode())
            kind = _Identifier.of(_SERVICE_NAME)
            self._check(library.gss_import_name(by(minor), by(name), by(kind), by(self._name)))
        bindings = _Bindings(application=_GssBuffer.of(self._binding))
        flags, given, made = _number(), _GssBuffer.of(token), _GssBuffer()
        major = library.gss_init_sec_context(
            *(by(minor), None, by(self._context), self._name, by(_Identifier.of(_SPNEGO))),
            *(_MUTUAL, 0, by(bindings) if self._binding else None, by(given)),
            *(None, by(made), by(flags), None),
        )
        answer = ctypes.string_at(made.value, made.length) if made.length else b""
        library.gss_release_buffer(by(_number()), by(made))
        self._check(major)
        self.is_complete: bool = not major & _GSS_CONTINUE
        self.is_mutual: bool = bool(flags.value & _MUTUAL)
        return answer

    def _check(self, major: int) -> None:
        if major & _ERRORS:
            minor = self._minor.value
            told = self._told(minor, _OF_MECHANISM) if minor else self._told(major, _OF_GSS)
            raise AuthError(f"Negotiate with HTTP@{self._host} failed: {told}")

    def _told(self, code: int, kind: int) -> str:
        text, more, minor, by = _GssBuffer(), _number(), _number(), ctypes.byref
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


# SSPI

_OUTBOUND = 2  # SECPKG_CRED_OUTBOUND
_ALLOCATE = 0x100  # ISC_REQ_ALLOCATE_MEMORY
_SSPI_CONTINUE = 0x00090312  # SEC_I_CONTINUE_NEEDED
_TOKEN, _CHANNEL_BINDINGS = 2, 14  # kinds of buffers
_BINDINGS_HEAD = 32  # bytes of SEC_CHANNEL_BINDINGS before its data


class _Handle(ctypes.Structure):
    """SecHandle."""

    _fields_ = (("lower", ctypes.c_size_t), ("upper", ctypes.c_size_t))


class _SspiBuffer(ctypes.Structure):
    """SecBuffer. The bytes have to outlive it."""

    _fields_ = (("size", _number), ("kind", _number), ("data", _address))

    @classmethod
    def of(cls, kind: int, content: bytes) -> _SspiBuffer:
        return cls(len(content), kind, ctypes.cast(ctypes.c_char_p(content), _address))


class _SspiBuffers(ctypes.Structure):
    """SecBufferDesc."""

    _fields_ = (("version", _number), ("count", _number), ("buffers", _address))


def sspi_library() -> Any:
    """Return the library of this Windows. Raises `UsageError`."""
    try:
        return ctypes.WinDLL("secur32")  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        raise UsageError("Negotiate needs secur32.dll of Windows, which cannot be loaded") from None


class SspiContext(SecurityContext):
    """An authentication by SSPI."""

    def __init__(self, library: Any, host: str, binding: bytes) -> None:
        super().__init__(library, host, binding)
        self._credentials: _Handle | None = None
        self._context: _Handle | None = None

    def step(self, token: bytes) -> bytes:
        library, by = self._library, ctypes.byref
        expiry, flags, made = ctypes.c_int64(), _number(), _SspiBuffer(0, _TOKEN, None)
        if self._credentials is None:
            credentials = _Handle()
            self._check(
                library.AcquireCredentialsHandleW(
                    *(None, "Negotiate", _OUTBOUND, None, None, None, None),
                    *(by(credentials), by(expiry)),
                )
            )
            self._credentials = credentials
        given = [_SspiBuffer.of(_TOKEN, token)] if token else []
        if self._binding:
            head = (ctypes.c_uint32 * 8)(0, 0, 0, 0, 0, 0, len(self._binding), _BINDINGS_HEAD)
            given.append(_SspiBuffer.of(_CHANNEL_BINDINGS, bytes(head) + self._binding))
        inputs = (_SspiBuffer * len(given))(*given)
        before, after = self._context, self._context or _Handle()
        status = library.InitializeSecurityContextW(
            *(by(self._credentials), by(before) if before else None, f"HTTP/{self._host}"),
            *(_MUTUAL | _ALLOCATE, 0, 0),
            by(_SspiBuffers(0, len(given), ctypes.cast(inputs, _address))) if given else None,
            *(0, by(after), by(_SspiBuffers(0, 1, ctypes.cast(ctypes.pointer(made), _address)))),
            *(by(flags), by(expiry)),
        )
        answer = ctypes.string_at(made.data, made.size) if made.size else b""
        if made.data:
            library.FreeContextBuffer(_address(made.data))
        self._check(status)
        self._context = after
        self.is_complete: bool = status != _SSPI_CONTINUE
        self.is_mutual: bool = bool(flags.value & _MUTUAL)
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


if TYPE_CHECKING:
    from ..framing.http1 import ResponseHead
    from .network_options import Negotiate

_BASE64 = r"(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?"
_CHALLENGE = re.compile(rf"(?i)(?:^|,)\s*negotiate(?:[ \t]+({_BASE64}))?\s*(?:,|$)")
_MAX_MESSAGES = 10  # of one login
_NO_TICKET = (
    "Look at your tickets with klist, and get one with kinit; the name of the service has to be "
    "the name of the host in the URL, or Negotiate(host=…)."
)


def challenge_in(text: str) -> bytes | None:
    """Return the message of a challenge, which may be empty; None where there is no challenge."""
    found = _CHALLENGE.search(text)
    return None if found is None else base64.b64decode(found[1] or "")


class Handshake:
    """One login to a host, whose ``certificate`` (in DER) binds it to the TLS connection."""

    def __init__(self, options: Negotiate, host: str, certificate: bytes) -> None:
        self.messages: int = 0
        self._host = options.host or host
        name, binding = signature_hash(certificate), b""
        if name:
            binding = b"tls-server-end-point:" + hashlib.new(name, certificate).digest()
        self._context = context_maker()(self._host, binding)

    async def answer(self, message: bytes = b"") -> str:
        """Return the credentials for the next request. Raises `AuthError`."""
        self.messages += 1
        if self.messages > _MAX_MESSAGES:
            raise AuthError(f"{self._host} did not end the login by Negotiate")
        try:
            token = await call_in_thread(lambda: self._context.step(message))
        except AuthError as error:
            raise error.advise(_NO_TICKET) from None
        return f"Negotiate {base64.b64encode(token).decode()}"

    def finish(self, challenge: str, *, mutual: bool) -> None:
        """Check the server's last message. Raises `AuthError` where it does not prove who it is."""
        message = challenge_in(challenge)
        if message and not self._context.is_complete:
            self._context.step(message)
        if mutual and not (self._context.is_complete and self._context.is_mutual):
            raise AuthError(f"{self._host} has not proved its identity (Negotiate)").advise(
                "Kerberos does so, NTLM cannot; Negotiate(mutual=False) accepts a server without."
            )


class NegotiateAuthorizer(Authorizer):
    """The authorizer of one server."""

    def __init__(self, options: Negotiate, server_url: str) -> None:
        context_maker()  # fails early without a library
        self.options = options
        self.url: Url = parse_url(server_url)
        self.is_eager = False  # one message was enough the last time
        self.certificate = b""

    def request(self, method: str, url: str, *, passive: bool = False) -> _Request:
        return _Request(self, url)


class _Request:
    def __init__(self, owner: NegotiateAuthorizer, url: str) -> None:
        self._owner = owner
        self._url = url
        self._handshake: Handshake | None = None
        self._is_eager = owner.is_eager
        self._credentials = ""

    async def headers(self, url: str | None = None) -> Mapping[str, str]:
        if url is not None:  # a message serves only once
            self._url, self._credentials, self._is_eager = url, "", self._owner.is_eager
        if not self._is_ours:
            return {}
        if self._is_eager and not self._credentials:
            await self._begin()
        return {"Authorization": self._credentials} if self._credentials else {}

    @property
    def _is_ours(self) -> bool:
        return parse_url(self._url).origin == self._owner.url.origin

    async def _begin(self) -> None:
        owner = self._owner
        self._handshake = Handshake(owner.options, owner.url.host, owner.certificate)
        self._credentials = await self._handshake.answer()

    def note(self, head: ResponseHead) -> None:
        """Check that the server has proved its identity. Raises `AuthError`."""
        handshake = self._handshake
        if handshake is None or not self._credentials:
            return
        mutual = self._owner.options.mutual and head.status < 300
        handshake.finish(head.headers.get("www-authenticate", ""), mutual=mutual)
        self._owner.is_eager = handshake.messages == 1

    async def recover(self, head: ResponseHead) -> bool:
        """Go on with the login, or begin one; False when the server has refused it."""
        message = challenge_in(head.headers.get("www-authenticate", ""))
        if head.status != 401 or message is None or not self._is_ours:
            return False
        if message and self._handshake is not None:
            self._credentials = await self._handshake.answer(message)
            return True
        if self._handshake is not None and not self._is_eager:
            return False
        self._is_eager = False
        self._owner.certificate = head.certificate
        await self._begin()
        return True

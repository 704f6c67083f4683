"""TLS: the contexts of a client, the authorities of the system, and why a handshake failed."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, cast

from ..errors import ConnectKind, UsageError, built_without
from .futures import call_in_thread
from .network_options import ClientCertificate, NetworkOptions
from .regular_files import open_regular

if TYPE_CHECKING:
    import ssl


class TlsContexts:
    """The TLS contexts of one client, each made on first use, since that takes milliseconds."""

    def __init__(self, options: NetworkOptions) -> None:
        self._options = options
        self._has_keychains = False

    @cached_property
    def for_server(self) -> ssl.SSLContext:
        """The context for servers. Raises `UsageError` for a file that cannot be used."""
        if self._options.ssl_context is not None:
            return self._options.ssl_context
        context = _context(self._options)
        if self._options.client_cert is not None:
            _load_certificate(context, self._options.client_cert)
        return context

    @cached_property
    def for_proxy(self) -> ssl.SSLContext:
        """The context for other peers, such as https proxies: it has no client certificate."""
        return self._options.ssl_context or _context(self._options)

    async def add_keychains(self) -> bool:
        """Trust the authorities of macOS, too, unless others were chosen; False: there are none.

        OpenSSL does not read its keychains, and its own store may be empty.
        """
        options = self._options
        is_chosen = options.ssl_context is not None or not options.verify
        is_chosen |= options.ca_file is not None and not options.trusts_system
        is_chosen |= not {"SSL_CERT_FILE", "SSL_CERT_DIR"}.isdisjoint(os.environ)
        if is_chosen or self._has_keychains or not _IS_MACOS:
            return False
        self._has_keychains = True
        with suppress(OSError, subprocess.SubprocessError):
            found = await call_in_thread(authorities_of_macos)
            self.for_server.load_verify_locations(cadata=found)
            return True
        return False

    def unverified(self) -> TlsContexts:
        """Return the same with a context for servers that accepts any certificate, and has none."""
        other = copy.copy(self)
        other.for_server = _context(NetworkOptions(verify=False))
        return other


def _is_der(path: str) -> bool:
    with suppress(OSError), os.fdopen(open_regular(path), "rb") as file:
        return file.read(2) in (b"\x30\x82", b"\x30\x81")
    return False


def _context(options: NetworkOptions) -> ssl.SSLContext:
    try:
        import ssl
    except ImportError:
        raise built_without("ssl", "https") from None

    if not options.verify:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif options.ca_file is None:
        context = ssl.create_default_context()
    else:
        try:
            os.close(open_regular(options.ca_file))  # OpenSSL would wait for a pipe
            context = ssl.create_default_context(cafile=os.fspath(options.ca_file))
            if options.trusts_system:
                context.load_default_certs()
        except OSError as error:
            name = os.fspath(options.ca_file)
            reason = error.strerror or error
            raised = UsageError(f"ca_file {name!r} holds no certificates to trust: {reason}")
            if _is_der(name):
                import shlex

                pem = f"{name}.pem"
                line = shlex.join(["openssl", "x509", "-inform", "der", "-in", name, "-out", pem])
                raised.advise(f"It is in DER, and PEM is needed: convert it with {line}")
            raise raised from error
    with suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context


_IS_MACOS = sys.platform == "darwin"
_SECURITY = "/usr/bin/security"
_APPLE = "/System/Library/Keychains/SystemRootCertificates.keychain"
_LOCAL = "/Library/Keychains/System.keychain"
_TOOL_TIMEOUT = 10.0
_END = "-----END CERTIFICATE-----\n"


@lru_cache(maxsize=1)
def authorities_of_macos() -> str:
    """Return Apple's authorities, and authorities that administrators trust, as PEM.

    Blocks while the system's own tool runs. Raises `OSError`, `subprocess.SubprocessError`.
    """
    import tempfile

    found = _security("find-certificate", "-a", "-p", _APPLE)
    for certificate in _security("find-certificate", "-a", "-p", _LOCAL).split(_END)[:-1]:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(certificate + _END)
            file.flush()
            # The keychain holds certificates for other purposes as well, and distrusted ones.
            with suppress(subprocess.CalledProcessError):
                _security("verify-cert", "-l", "-L", "-R", "offline", "-c", file.name)
                found += certificate + _END
    return found


def _security(*words: str) -> str:
    return subprocess.run(
        [_SECURITY, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_TOOL_TIMEOUT,
        check=True,
        encoding="ascii",
    ).stdout


def _load_certificate(context: ssl.SSLContext, given: ClientCertificate) -> None:
    parts = given if isinstance(given, tuple) and len(given) > 1 else (given,)
    if len(parts) > 3 or not isinstance(parts[0], (str, os.PathLike)):
        raise UsageError(
            "client_cert is a path, (certificate, key) or (certificate, key, password)"
        )
    certificate, key, password = cast(
        "tuple[str, str | None, str | None]", (*parts, None, None)[:3]
    )
    try:
        for path in filter(None, (certificate, key)):
            with open(open_regular(path), "rb") as file:
                is_binary = file.read(1) == b"\x30"  # a SEQUENCE of DER, never of PEM
            if is_binary:
                raise UsageError(
                    f"client_cert {os.fspath(path)!r} is not a PEM file; make one of PKCS#12 "
                    "(.p12, .pfx) with: openssl pkcs12 -in FILE -out client.pem -nodes"
                )
        # Without a password OpenSSL would ask for it on the terminal.
        context.load_cert_chain(certificate, key, password=password or "")
    except OSError as error:
        import ssl

        if not isinstance(error, ssl.SSLError):
            reason = error.strerror or str(error)
        elif error.reason == "KEY_VALUES_MISMATCH":
            reason = "the key does not belong to the certificate"
        else:
            reason = (
                "no certificate with its key in PEM form, or the key's password is wrong or missing"
            )
        name = os.fspath(certificate)
        raise UsageError(f"client_cert {name!r} cannot be used: {reason}") from error


# OpenSSL's numbers (X509_V_ERR_…) for the reason why a certificate is rejected.
_UNKNOWN = ConnectKind.UNKNOWN_AUTHORITY, "comes from an authority that is not trusted here"
_REFUSED_CERTIFICATES = {
    2: _UNKNOWN,
    9: (ConnectKind.NOT_YET_VALID, "is not valid yet"),
    10: (ConnectKind.EXPIRED, "has expired"),
    18: (ConnectKind.SELF_SIGNED, "is self-signed"),
    19: _UNKNOWN,
    20: _UNKNOWN,
    21: _UNKNOWN,
}
_WRONG_NAME = (62, 64)

# OpenSSL's names for alerts and faults of the peer, in several versions.
_ALERTS = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "{name} demands a client certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": (
        "{name} refused the TLS handshake: it may demand a client certificate, or share no "
        "protocol version or cipher with us"
    ),
    "TLSV1_ALERT_UNKNOWN_CA": "{name} does not trust the authority of our client certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "{name} does not accept our client certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "{name} says that our client certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "{name} does not accept our client certificate",
}
_OLD = {"TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"}
_NOT_TLS = {
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
}


def explain_tls_error(error: ssl.SSLError, host: str, port: int) -> tuple[ConnectKind, str]:
    """Return the kind and the reason of a TLS failure, naming the peer."""
    import ssl

    name = f"{host} port {port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        message = error.verify_message.rstrip(".")
        if error.verify_code in _WRONG_NAME:
            return ConnectKind.OTHER_HOST, f"the certificate is not one for {host} ({message})"
        unknown = ConnectKind.CERTIFICATE, f"is not trusted: {message}"
        kind, fault = _REFUSED_CERTIFICATES.get(error.verify_code, unknown)
        return kind, f"the certificate of {host} {fault}"
    reason = getattr(error, "reason", None)  # errors that do not come from OpenSSL have none
    if reason in _NOT_TLS:
        return ConnectKind.NOT_TLS, f"{name} does not speak TLS"
    if reason in _ALERTS:
        return ConnectKind.CLIENT_CERTIFICATE, _ALERTS[reason].format(name=name)
    if reason in _OLD:
        return ConnectKind.TLS, f"{name} speaks no TLS version that we may use"
    if isinstance(error, ssl.SSLEOFError):
        return ConnectKind.TLS, f"{name} closed the connection during TLS"
    return ConnectKind.TLS, f"TLS with {name} failed: {reason or error}"

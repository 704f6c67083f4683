"""TLS: the contexts of a client, and its errors in words that say what to do about them."""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from typing import cast

from ..errors import ConnectKind, UsageError
from .network_options import ClientCertificate, NetworkOptions
from .regular_files import open_regular


class TlsContexts:
    """The contexts of one client, each made when it is first needed, which takes milliseconds."""

    def __init__(self, options: NetworkOptions) -> None:
        self._options = options
        self._for_server: ssl.SSLContext | None = options.ssl_context
        self._for_proxy: ssl.SSLContext | None = options.ssl_context

    @property
    def for_server(self) -> ssl.SSLContext:
        """The context for servers. Raises `UsageError` for a file that cannot be used."""
        if self._for_server is None:
            context = _context(self._options)
            if self._options.client_cert is not None:
                _load_certificate(context, self._options.client_cert)
            self._for_server = context
        return self._for_server

    @property
    def for_proxy(self) -> ssl.SSLContext:
        """The context for others, such as https proxies: they do not get the client certificate."""
        if self._for_proxy is None:
            self._for_proxy = _context(self._options)
        return self._for_proxy


def _context(options: NetworkOptions) -> ssl.SSLContext:
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
            raise UsageError(
                f"ca_file {name!r} holds no certificates to trust: {reason}"
            ) from error
    with suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context


def _load_certificate(context: ssl.SSLContext, given: ClientCertificate) -> None:
    certificate, key, password = _parts(given)
    try:
        for path in (certificate, key):
            if path is not None:
                os.close(open_regular(path))
        # Without a password OpenSSL would ask for it on the terminal.
        context.load_cert_chain(certificate, key, password=password or "")
    except OSError as error:
        name = os.fspath(certificate)
        if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
            reason = "the key is not that of the certificate"
        elif isinstance(error, ssl.SSLError):
            reason = (
                "no certificate with its key in PEM form, or the key's password is wrong or missing"
            )
        else:
            reason = error.strerror or str(error)
        raise UsageError(f"client_cert {name!r} cannot be used: {reason}") from error


def _parts(
    given: ClientCertificate,
) -> tuple[str | os.PathLike[str], str | os.PathLike[str] | None, str | None]:
    if isinstance(given, (str, os.PathLike)):
        return given, None, None
    if not isinstance(given, tuple) or len(given) not in (2, 3):
        raise UsageError(
            "client_cert is a path, (certificate, key) or (certificate, key, password)"
        )
    if len(given) == 2:
        return given[0], given[1], None
    return cast("tuple[str, str, str]", given)


# OpenSSL's numbers (X509_V_ERR_…) for why a certificate is not accepted.
_NOT_YET_VALID = 9
_EXPIRED = 10
_SELF_SIGNED = 18
_UNKNOWN_AUTHORITY = (2, 19, 20, 21)
_WRONG_NAME = (62, 64)

# What OpenSSL calls alerts and mistakes of the other side, in several versions.
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
    """Say what is wrong with the TLS of a peer."""
    name = f"{host} port {port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return _explain_verification(error, host)
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


def _explain_verification(
    error: ssl.SSLCertVerificationError, host: str
) -> tuple[ConnectKind, str]:
    code, subject = error.verify_code, f"the certificate of {host}"
    if code == _SELF_SIGNED:
        return ConnectKind.SELF_SIGNED, f"{subject} is self-signed"
    if code in _UNKNOWN_AUTHORITY:
        reason = f"{subject} comes from an authority that is not trusted here"
        return ConnectKind.UNKNOWN_AUTHORITY, reason
    if code == _EXPIRED:
        return ConnectKind.EXPIRED, f"{subject} has expired"
    if code == _NOT_YET_VALID:
        return ConnectKind.NOT_YET_VALID, f"{subject} is not valid yet"
    message = error.verify_message.rstrip(".")
    if code in _WRONG_NAME:
        return ConnectKind.OTHER_HOST, f"the certificate is not one for {host} ({message})"
    return ConnectKind.CERTIFICATE, f"{subject} is not trusted: {message}"

from __future__ import annotations

import asyncio
import re
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from mcpclient.errors import UsageError
from mcpclient.framing.uri import parse_url
from mcpclient.net import tls
from mcpclient.net.dialing import Dialer
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.stream import Stream
from mcpclient.net.tls import TlsContexts, explain_tls_error
from tests.net.certificates import Authority
from tests.net.peers import Recorder, echo, serve
from tests.support.tables import each_row


def contexts(**options: Any) -> TlsContexts:
    return TlsContexts(NetworkOptions(**options))


def trusted(context: ssl.SSLContext) -> int:
    return int(context.cert_store_stats()["x509_ca"])


def test_an_own_context_is_used_as_it_is() -> None:
    """F-HTTP-12: for servers and proxies alike."""
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made = contexts(ssl_context=own)
    assert made.for_server is own
    assert made.for_proxy is own


def test_unusable_files_are_named(tmp_path: Path) -> None:
    """F-HTTP-12: one clear error each, and no question on the terminal."""
    authority = Authority(tmp_path)
    empty, missing = tmp_path / "empty.pem", tmp_path / "none.pem"
    empty.write_text("nothing\n")
    locked = authority.client_files(password="secret")
    pkcs12 = tmp_path / "client.p12"
    authorities = [x509.load_pem_x509_certificate(authority.ca.cert_pem.bytes())]
    pkcs12.write_bytes(
        serialize_key_and_certificates(None, None, None, authorities, NoEncryption())
    )
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"ca_file": missing}, "ca_file '.*none.pem' holds no certificates"),
        ({"ca_file": empty}, "ca_file '.*empty.pem' holds no certificates"),
        ({"client_cert": missing}, "client_cert '.*none.pem' cannot be used: .*No such file"),
        ({"client_cert": empty}, "no certificate with its key in PEM form"),
        ({"client_cert": locked}, "password is wrong or missing"),
        ({"client_cert": (*locked, "wrong")}, "password is wrong or missing"),
        ({"client_cert": locked[:1]}, "client_cert is a path, "),
        ({"client_cert": pkcs12}, r"'.*\.p12' is not a PEM file; .*: openssl pkcs12 -in FILE"),
    ]
    for options, reason in wrong:
        with pytest.raises(UsageError, match=reason):
            assert contexts(**options).for_server


def test_a_key_of_another_certificate_is_noticed(tmp_path: Path) -> None:
    """F-HTTP-12: the two files belong together."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    certificate, _ = Authority(tmp_path / "a").client_files()
    _, key = Authority(tmp_path / "b").client_files()
    with pytest.raises(UsageError, match="the key does not belong to the certificate"):
        assert contexts(client_cert=(certificate, key)).for_server


def ssl_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] words of OpenSSL")
    error.reason = reason
    return error


def verification_error(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    error.verify_message = message
    return error


@each_row(
    ("error", "expected"),
    [
        (verification_error(18, "self-signed certificate"), "is self-signed"),
        (verification_error(19, "in chain"), "authority that is not trusted here"),
        (verification_error(20, "no issuer"), "authority that is not trusted here"),
        (verification_error(10, "expired"), "has expired"),
        (verification_error(9, "not yet"), "not valid yet"),
        (verification_error(62, "Hostname mismatch."), r"not one for a\.test \(Hostname misma"),
        (verification_error(23, "certificate revoked"), "is not trusted: certificate revoked"),
        (ssl_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "demands a client certificate"),
        (ssl_error("SSLV3_ALERT_HANDSHAKE_FAILURE"), "may demand a client certificate"),
        (ssl_error("TLSV1_ALERT_UNKNOWN_CA"), "does not trust the authority of our client"),
        (ssl_error("WRONG_VERSION_NUMBER"), "port 443 does not speak TLS"),
        (ssl.SSLEOFError(8, "EOF occurred"), "closed the connection during TLS"),
        (ssl_error("SOMETHING_NEW"), "TLS with a.test port 443 failed: SOMETHING_NEW"),
    ],
)
def test_errors_say_what_would_change_them(error: ssl.SSLError, expected: str) -> None:
    """F-HTTP-12: the text names the host, what is wrong, and what to do."""
    _, text = explain_tls_error(error, "a.test", 443)
    assert re.search(expected, text), text
    assert "a.test" in text


TOOL = """#!/bin/sh
echo "$1" >> {folder}/ran
case "$1 $4" in
    "find-certificate /System"*) cat {folder}/apple.pem ;;
    "find-certificate /Library"*) cat {folder}/trusted.pem {folder}/other.pem ;;
    verify-cert*) cmp -s "$7" {folder}/trusted.pem ;;
esac
"""


@pytest.fixture
def macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system whose tool knows three authorities, one of which is not trusted."""
    for name in ("apple", "trusted", "other"):
        Authority(tmp_path, name)
    tool = tmp_path / "security"
    tool.write_text(TOOL.format(folder=tmp_path))
    tool.chmod(0o700)
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(tls, "_SECURITY", str(tool))
    monkeypatch.setattr(tls, "_IS_MACOS", True)
    tls.authorities_of_macos.cache_clear()
    return tmp_path


@pytest.mark.needs_posix
def test_the_keychains_of_macos(macos: Path) -> None:
    """F-HTTP-15: Apple's, and an administrator's that are trusted; asked for once."""
    first, second = contexts(), contexts()
    before = trusted(first.for_server)
    assert asyncio.run(first.add_keychains())
    assert not asyncio.run(first.add_keychains())
    assert trusted(first.for_server) == before + 2
    assert asyncio.run(second.add_keychains())
    ran = (macos / "ran").read_text().split()
    assert ran == ["find-certificate", "find-certificate", "verify-cert", "verify-cert"]


@pytest.mark.needs_posix
def test_keychains_are_not_read_where_others_were_chosen(
    macos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-15: by an option, or by the environment."""
    chosen: list[dict[str, Any]] = [
        {"ca_file": macos / "other.pem"},
        {"verify": False},
        {"ssl_context": ssl.create_default_context()},
    ]
    for options in chosen:
        assert not asyncio.run(contexts(**options).add_keychains())
    monkeypatch.setenv("SSL_CERT_FILE", str(macos / "other.pem"))
    assert not asyncio.run(contexts().add_keychains())
    assert not (macos / "ran").exists()


@pytest.mark.needs_posix
def test_a_tool_that_fails_adds_nothing(macos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15"""
    monkeypatch.setattr(tls, "_SECURITY", str(macos / "none"))
    assert not asyncio.run(contexts().add_keychains())


@pytest.mark.needs_posix
async def test_a_certificate_of_a_keychain_is_trusted_at_the_second_attempt(macos: Path) -> None:
    """F-HTTP-15: OpenSSL does not know it; the connection succeeds all the same."""
    server = trustme_context(macos)
    async with serve(echo, tls=server) as port:
        stream = await Dialer().dial(
            parse_url(f"https://localhost:{port}"), lambda: Stream(Recorder())
        )
        stream.abort()


def trustme_context(folder: Path) -> ssl.SSLContext:
    """A server's context of an authority that takes the place of the trusted one."""
    return Authority(folder, "trusted").server_context()

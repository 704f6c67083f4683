"""Certificates made when a test runs: an authority, and sound and faulty ones that it issues."""

from __future__ import annotations

import datetime
import ssl
from functools import lru_cache
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization


class Authority:
    """A certificate authority of a test's own."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self.ca = _new_authority(name)
        self.file = str(folder / f"{name}.pem")
        self.ca.cert_pem.write_to_path(self.file)

    def server_context(
        self, *names: str, client_authority: Authority | None = None, days: int = 1
    ) -> ssl.SSLContext:
        """A server's context with a certificate for these names that ends in so many days.

        With a ``client_authority`` the server demands a certificate of that authority.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._issue(*(names or ("localhost", "127.0.0.1")), days=days).configure_cert(context)
        if client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            client_authority.ca.configure_trust(context)
        return context

    def client_file(self) -> str:
        """A file with a client's certificate and its key."""
        path = self.folder / "client.pem"
        self._issue("client@client.test").private_key_and_cert_chain_pem.write_to_path(str(path))
        return str(path)

    def client_files(self, password: str | None = None) -> tuple[str, str]:
        """The files of a client's certificate and of its key."""
        leaf = self._issue("client@client.test")
        certificate, key = self.folder / "client-cert.pem", self.folder / "client-key.pem"
        leaf.cert_chain_pems[0].write_to_path(str(certificate))
        key.write_bytes(_encrypted(leaf.private_key_pem.bytes(), password))
        return str(certificate), str(key)

    def _issue(self, *names: str, days: int = 1) -> trustme.LeafCert:
        now = datetime.datetime.now(datetime.timezone.utc)
        return self.ca.issue_cert(
            *names,
            not_before=now - datetime.timedelta(days=9),
            not_after=now + datetime.timedelta(days=days),
        )


@lru_cache
def _new_authority(name: str) -> trustme.CA:
    return trustme.CA(organization_name=name)


def _encrypted(key: bytes, password: str | None) -> bytes:
    if password is None:
        return key
    return serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode()),
    )

"""Options for the network: trusted authorities, client certificate, proxies, recorder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Union

from ..errors import UsageError
from .recorder import Recorder

if TYPE_CHECKING:
    import ssl

    from ..framing.uri import Url
    from .proxies import ProxyChoice, ProxyRules

Path = Union[str, "os.PathLike[str]"]

ClientCertificate = Union[Path, "tuple[Path, Path]", "tuple[Path, Path, str]"]
"""A PEM file with certificate and key, or the two files, or these and the key's password."""


class Negotiate(NamedTuple):
    """The login of the user to this system: Kerberos, or NTLM where it offers that (RFC 4559).

    GSSAPI gives its tickets (libgssapi of MIT or Heimdal, the framework of macOS), or SSPI
    (Windows). They go to the origin of the URL only, bound to its TLS certificate (RFC 5929).
    ``host``: the name in the ticket, if the URL has another one. ``mutual``: refuse a response
    of a server that has not proved its identity; NTLM cannot do that.
    """

    host: str | None = None
    mutual: bool = True


class NetworkOptions(NamedTuple):
    """The network options of one client.

    - ``ca_file``: a PEM file of the authorities to trust, instead of the system's or
      ``SSL_CERT_FILE``.
    - ``client_cert``: the certificate to show to a server that asks for one.
    - ``ssl_context``: used for TLS as it is, instead of a context made of the other options.
    - ``verify``: False accepts any certificate.
    - ``unix_socket``: connect to this socket instead of the URL's host and port.
    - ``proxies``: which proxy each URL is reached through; None: there is no proxy.
    - ``recorder``: records everything sent and received, while it is on.
    - ``proxy_auth``: the login at an HTTP proxy.
    - ``trusts_system``: trust the authorities of the system besides ``ca_file``.
    """

    ca_file: Path | None = None
    client_cert: ClientCertificate | None = None
    ssl_context: ssl.SSLContext | None = None
    verify: bool = True
    unix_socket: Path | None = None
    proxies: ProxyRules | None = None
    recorder: Recorder | None = None
    trusts_system: bool = False
    proxy_auth: Negotiate | None = None

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)

    def proxy_for(self, url: Url) -> Url | None:
        """Return the proxy for a URL, as `ProxyRules.proxy_for` does."""
        return self.proxies.proxy_for(url) if self.proxies is not None else None

    def for_others(self, ssl_context: ssl.SSLContext | None) -> NetworkOptions:
        """Return the options for other servers, which the client's server names.

        Their certificates are always checked: ``verify=False`` and ``ssl_context`` apply to the
        client's server only, as do the client certificate and the Unix socket.
        """
        return NetworkOptions(
            ca_file=self.ca_file,
            ssl_context=ssl_context,
            proxies=self.proxies,
            recorder=self.recorder,
            trusts_system=True,
            proxy_auth=self.proxy_auth,
        )

    def with_proxy(self, proxy: ProxyChoice, environ: Mapping[str, str]) -> NetworkOptions:
        """Return the caller's options with the proxies of ``proxy``, or of ``environ`` if need be.

        Raises `UsageError` for options that exclude each other, and for an unusable proxy.
        """
        if self.ssl_context is not None and (self.ca_file, self.client_cert) != (None, None):
            conflict = "ssl_context= cannot be combined with ca_file= or client_cert="
            raise UsageError(f"{conflict}: load them into it")
        if self.ssl_context is not None and not self.verify:
            conflict = "ssl_context= cannot be combined with verify=False"
            raise UsageError(f"{conflict}: set its verify_mode")
        if self.ca_file is not None and not self.verify:
            raise UsageError("ca_file= cannot be combined with verify=False: choose one")
        if self.unix_socket is not None and proxy:
            raise UsageError("a Unix socket is not reached through a proxy: choose one")
        is_named = "_proxy" in " ".join(environ).lower()  # in one search of many variables
        is_direct = proxy is False or (proxy is None and not is_named)
        if is_direct or self.unix_socket is not None:
            return self
        try:
            from .proxies import ProxyRules
        except UsageError:  # a copy without HTTP, which needs no proxy unless one is given
            if proxy is None:
                return self
            raise
        return self._replace(proxies=ProxyRules(proxy, environ))

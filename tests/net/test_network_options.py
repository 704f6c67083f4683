from __future__ import annotations

import ssl
from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.framing.uri import parse_url
from mcpclient.net.network_options import NetworkOptions

ENVIRON = {"HTTP_PROXY": "http://user:secret@proxy.test:3128"}


def test_the_environment_is_read_once() -> None:
    """F-HTTP-12: later changes of the environment do not reach a client."""
    environ = dict(ENVIRON)
    options = NetworkOptions().with_proxy(None, environ)
    environ.clear()
    assert options.proxy_for(parse_url("http://a.test")) is not None
    assert NetworkOptions().proxy_for(parse_url("http://a.test")) is None


def test_a_unix_socket_is_reached_without_the_proxy_of_the_environment() -> None:
    """F-HTTP-12: the socket says where to connect, so no rule applies."""
    options = NetworkOptions(unix_socket="/run/x").with_proxy(None, ENVIRON)
    assert options.proxy_for(parse_url("http://a.test")) is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"ca_file": "a.pem", "ssl_context": ...}, "ssl_context= cannot be combined with"),
        ({"client_cert": "a.pem", "ssl_context": ...}, "ssl_context= cannot be combined with"),
        ({"verify": False, "ssl_context": ...}, "ssl_context= cannot be combined with"),
        ({"verify": False, "ca_file": "a.pem"}, "choose one"),
        ({"unix_socket": "/run/x", "proxy": "http://p.test"}, "choose one"),
        ({"proxy": "socks4://p.test"}, "SOCKS 4"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], reason: str
) -> None:
    """F-HTTP-12: nothing that was asked for is ignored in silence."""
    if "ssl_context" in options:
        options = {**options, "ssl_context": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
    given = NetworkOptions(**{name: options[name] for name in options if name != "proxy"})
    with pytest.raises(UsageError, match=reason):
        given.with_proxy(options.get("proxy"), {})


def test_secrets_are_not_in_the_repr() -> None:
    """F-AUTH-12: neither the password of a key nor that of a proxy."""
    options = NetworkOptions(client_cert=("c.pem", "k.pem", "secret")).with_proxy(None, ENVIRON)
    assert "secret" not in repr(options)

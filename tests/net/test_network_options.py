from __future__ import annotations

import ssl
from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.net.network_options import Negotiate, NetworkOptions
from mcpclient.net.proxies import ProxyRules
from mcpclient.net.recorder import Recorder
from tests.support.tables import each_row

ENVIRON = {"HTTP_PROXY": "http://user:secret@proxy.test:3128"}


@each_row(
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


def test_other_servers_are_reached_as_the_clients_and_trusted_less() -> None:
    """F-AUTH-10, F-HTTP-12: the way to them is the same; what vouches for its server does not."""
    recorder, login = Recorder(), Negotiate()
    given = NetworkOptions("a.pem", "c.pem", unix_socket="/run/x", recorder=recorder)
    given = given._replace(proxy_auth=login, proxies=ProxyRules("http://p.test", {}))
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert given._replace(verify=False).for_others(own)._asdict() == {
        **NetworkOptions()._asdict(),
        **{"ca_file": "a.pem", "ssl_context": own, "trusts_system": True},
        **{"recorder": recorder, "proxies": given.proxies, "proxy_auth": login},
    }


def test_secrets_are_not_in_the_repr() -> None:
    """F-AUTH-12: neither a key's password nor a proxy's."""
    options = NetworkOptions(client_cert=("c.pem", "k.pem", "secret")).with_proxy(None, ENVIRON)
    assert "secret" not in repr(options)

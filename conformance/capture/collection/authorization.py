"""Scripts for protected servers."""

from __future__ import annotations

from conformance.capture.collection.parts import call
from conformance.scripts import CLIENT2, STATELESS, Script

CODE = {"grant": "authorization_code"}
KNOWN = {"client_id": "a-known-client", "client_secret": "the-secret-of-the-known-client"}
HELLO = call("echo", text="hello")

SCRIPTS = (
    Script("code", "authorized", (HELLO,), ("http",), auth=CODE),
    Script("known-client", "authorized", (HELLO,), ("http",), auth={**CODE, **KNOWN}),
    Script(
        "client-credentials",
        "authorized",
        (HELLO,),
        ("http",),
        auth={"grant": "client_credentials", **KNOWN},
    ),
    Script("no-login", "authorized", (), ("http",)),
    Script("refresh", "authorized-expiring", (HELLO, HELLO, HELLO), ("http",), auth=CODE),
    Script("login", "authorized-revoked", (HELLO, HELLO, HELLO), ("http",), auth=CODE),
    Script("refresh", "authorized-keeping", (HELLO,) * 8, ("http",), auth=CODE),
    Script("code", "authorized-unregistered", (), ("http",), auth=CODE),
    Script("redirect", "authorized-moved", (HELLO, call("fail"), HELLO), ("http",), auth=CODE),
    Script("code", "authorized-forged", (HELLO,), ("http",), auth=CODE),
    Script("step-up", "authorized-scopes", (HELLO, call("fail"), HELLO), ("http",), auth=CODE),
    Script("widen", "authorized-scopes", (call("fail"),), ("http",), driver=CLIENT2, auth=CODE),
    Script("code", "mcp2-authorized", (HELLO,), ("http",), auth=CODE),
    Script("code", "mcp2-authorized", (HELLO,), ("http",), STATELESS, CLIENT2, auth=CODE),
    Script("code", "fastmcp-authorized", (HELLO,), ("http",), auth=CODE),
)

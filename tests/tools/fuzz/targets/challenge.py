"""The challenge of a 401: one header field in each line."""

from __future__ import annotations

from mcpclient.auth.discovery import AuthorizationServer, Discovery
from mcpclient.auth.obtaining import scopes_for
from mcpclient.auth.options import OAuth
from mcpclient.auth.tokens import parse_challenges, parse_scope, read_challenge, union

FOUND = Discovery(AuthorizationServer("https://a.example", "https://a.example/token"), None)


def target(data: bytes) -> None:
    fields = data.decode("latin-1").split("\n")
    for scheme, parameters in parse_challenges(fields):
        assert scheme
        assert all(name == name.lower() for name in parameters)
    asked = read_challenge(fields)
    scopes = asked.scopes or ()
    assert union(scopes) == scopes == parse_scope(" ".join(scopes))
    wanted = scopes_for(OAuth(scopes=["mine"]), FOUND, asked, ())
    assert set(wanted) <= {*scopes, "mine"}

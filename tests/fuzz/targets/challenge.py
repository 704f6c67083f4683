"""What a 401 asks for: one header field in each line."""

from __future__ import annotations

from mcpclient.auth.challenge import (
    parse_challenges,
    parse_scope,
    read_challenge,
    select_scopes,
    union,
)


def target(data: bytes) -> None:
    fields = data.decode("latin-1").split("\n")
    for challenge in parse_challenges(fields):
        assert challenge.scheme
        assert all(name == name.lower() for name in challenge.parameters)
    asked = read_challenge(fields)
    scopes = asked.scopes or ()
    assert union(scopes) == scopes == parse_scope(" ".join(scopes))
    wanted = select_scopes(
        challenged=asked.scopes,
        configured=("mine",),
        resource_supported=None,
        server_supported=None,
    )
    assert set(wanted) <= {*scopes, "mine"}

"""The answer of a token endpoint: a status and a content type in the first line, then the body."""

from __future__ import annotations

import json

from mcpclient.auth.effects import Response
from mcpclient.auth.tokens import TokenSet, parse_token_response, token_set
from mcpclient.errors import AuthError
from mcpclient.framing.headers import encode_header

NOW = 1_700_000_000.0
SECRET = "hunter2"


def target(data: bytes) -> None:
    head, _, body = data.partition(b"\n")
    status, _, content_type = head.decode("latin-1").partition(" ")
    response = Response(
        int(status) if status in ("200", "400", "401", "500") else 200,
        [("Content-Type", content_type)],
        body,
    )
    try:
        tokens = token_set(parse_token_response(response, [SECRET]), NOW, None)
    except AuthError as error:
        assert SECRET not in str(error)
        return
    encode_header("Authorization", f"{tokens.token_type} {tokens.access_token}")
    assert tokens.expires_at is None or tokens.expires_at >= NOW
    assert tokens.renew_at is None or tokens.renew_at <= (tokens.expires_at or 0)
    assert tokens.access_token not in repr(tokens) or len(tokens.access_token) < 20
    stored = json.loads(json.dumps(tokens.to_record()))
    assert TokenSet.from_record(stored) == tokens

"""Tokens and assertions: the forms that a server gives them, and whose they are."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.reactions.logins import json, login, refusal
from conformance.capture.collection.reactions.parts import (
    HELLO,
    ORIGIN,
    PING,
    USUAL,
    Reaction,
    Reply,
    plain,
)

_GRANTED = "RFC 6749, 5.1 and 5.2; RFC 6749, A.12: the fields of a token response."
_CHOSEN = "RFC 9728, 2 and 3.3; Authorization server discovery: the issuer that the user trusts."


def _text(kind: str) -> Reply:
    text = "access_token=the-token-with-the-number-1&token_type=bearer&expires_in=3600"
    return Reply(200, {"Content-Type": kind}, body=text.encode())


def _form(more: bytes = b"") -> Reply:
    kind = "application/x-www-form-urlencoded"
    text = b"access_token=the-token-with-the-number-1"
    return Reply(200, {"Content-Type": kind}, body=text + more)


_USUAL_TOKEN = {"access_token": "the-token-with-the-number-1", "token_type": "Bearer"}
_TOKEN_REPLIES: dict[str, Reply] = {
    "in-text": _text("Text/Plain; charset=utf-8"),
    "in-a-page": _text("text/html"),
    "in-a-form": _form(),
    "in-a-form-of-no-encoding": _form(b"&note=\xff"),
    "in-a-form-of-many-fields": _form(b"&a=1" * 60),
    "without-a-type": json(access_token="the-token-with-the-number-1"),
    "of-a-type-of-no-type": json(**{**_USUAL_TOKEN, "token_type": 5}),
    "of-no-type": json(access_token=["the-token-with-the-number-1"], token_type="Bearer"),
    "that-is-empty": json(access_token="", token_type="Bearer"),
    "with-an-error": json(**_USUAL_TOKEN, error="invalid_scope"),
    "with-an-error-of-no-type": json(400, error=5),
    "refused-with-a-token": json(400, **_USUAL_TOKEN),
    "with-scopes-of-no-type": json(**_USUAL_TOKEN, scope=["tools"]),
    **{
        f"that-lasts-{name}": json(**_USUAL_TOKEN, expires_in=time)
        for name, time in {
            "below-nothing": -5,
            "a-truth": True,
            "beyond-all-years": 1e300,
            "a-fraction-in-a-string": "3600.5",
        }.items()
    },
}

_TWO_SERVERS = {
    "GET /.well-known/oauth-protected-resource/mcp": (
        json(resource=f"{ORIGIN}/mcp", authorization_servers=[f"{ORIGIN}/tenant", ORIGIN]),
    ),
    "GET /.well-known/oauth-authorization-server/tenant": (plain(404),),
}
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_MANAGED = "RFC 8693, 2.2; RFC 7523, 2.1: what is asked for is exchanged for a token of the server."
_ENTERPRISE: dict[str, Any] = {
    "grant": "enterprise",
    "value": "the-id-token-of-the-user",
    "options": {
        "client_id": "the-client-of-the-server",
        "provider": {"token_endpoint": f"{ORIGIN}/idp", "client_id": "the-client-there"},
    },
}
_FOR_NO_RESOURCE = {"options": {**_ENTERPRISE["options"], "resource": ""}}


def _exchanged(kind: Any) -> Reply:
    return json(access_token="the-assertion-of-the-user", issued_token_type=kind, token_type="N_A")


_LASTS = "RFC 6749, 5.1 and 6: a token serves until it expires, and no longer; a refresh may fail."
_ONLY_ACCESS = {"access_token": "the-token-with-the-number-1", "token_type": "Bearer"}

SESSIONS: tuple[Reaction, ...] = (
    *(
        login(
            f"token-{name}",
            _LASTS,
            HELLO,
            {"do": "pause", "seconds": seconds},
            HELLO,
            PING,
            replies={"POST /token": replies},
            token_seconds=lasts,
        )
        for name, lasts, seconds, replies in (
            ("not-renewed-after-its-end", 1, 1.2, (USUAL, plain(503), USUAL)),
            ("not-renewed-before-its-end", 6, 3.2, (USUAL, plain(503), USUAL)),
            ("alone-before-its-end", 6, 3.2, (json(**_ONLY_ACCESS, expires_in=6), USUAL)),
            ("alone-after-its-end", 1, 1.2, (json(**_ONLY_ACCESS, expires_in=1), USUAL)),
        )
    ),
    *(
        login(f"token-{name}", _GRANTED, HELLO, replies={"POST /token": (reply, USUAL)})
        for name, reply in _TOKEN_REPLIES.items()
    ),
    *(
        login(f"at-{name}", _CHOSEN, HELLO, auth=auth, replies=_TWO_SERVERS)
        for name, auth in {
            "the-first-of-two-servers": None,
            "the-trusted-of-two-servers": {
                "grant": "authorization_code",
                "options": {"issuer": ORIGIN},
            },
        }.items()
    ),
    *(
        login(
            f"of-an-enterprise-{name}",
            _MANAGED,
            HELLO,
            auth={**_ENTERPRISE, **auth},
            replies={"POST /idp": (reply,)},
        )
        for name, reply, auth in (
            ("as-usual", _exchanged(_ID_JAG), {}),
            ("for-a-scope", _exchanged(_ID_JAG), {"scope": "tools more"}),
            ("for-no-resource", _exchanged(_ID_JAG), _FOR_NO_RESOURCE),
            ("by-another-token", _exchanged("urn:ietf:params:oauth:token-type:jwt"), {}),
            ("by-a-token-of-no-kind", _exchanged(None), {}),
            ("that-refuses", refusal("invalid_grant"), {}),
        )
    ),
)

"""Logins by a device's code, and the callbacks of logins: each answer, and its reaction."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.reactions.logins import json, login, refusal, refused
from conformance.capture.collection.reactions.parts import (
    DROPPED,
    HELLO,
    ORIGIN,
    PING,
    USUAL,
    Reaction,
    Reply,
    plain,
)

_DEVICE = {"grant": "authorization_code", "device": True}
_TOKEN = "POST /token"
_PENDING = refusal("authorization_pending")
_POLLED = (
    "RFC 8628, 3.5: poll no faster than the interval, five seconds slower after slow_down and "
    "after a timeout, until the code expires."
)
_SHOWN = "RFC 8628, 3.2 and 3.3: the user is shown an address that is safe, and a code."
_GIVEN = "RFC 8628, 3.2 to 3.5: an address to visit, and codes until they expire."
_CALLED_BACK = (
    "RFC 6749, 4.1.2; RFC 9207, 2.4: issuer and state are compared before anything else is taken."
)
_NARROWER = (
    "RFC 6749, 5.1; Authorization, Step-Up: a scope may be narrower than asked for; a later "
    "challenge asks for what is missing."
)
_NAMED = {
    "grant": "authorization_code",
    "options": {
        "endpoints": {
            "token_endpoint": f"{ORIGIN}/token",
            "authorization_endpoint": f"{ORIGIN}/authorize",
            "registration_endpoint": f"{ORIGIN}/register",
        }
    },
}
_ISSUED = {"metadata": {"authorization_response_iss_parameter_supported": True}}


def _codes(**members: Any) -> Reply:
    usual = {"device_code": "the-device-code", "user_code": "ABCD-EFGH", "interval": 1}
    return json(**{**usual, "verification_uri": f"{ORIGIN}/enter", **members})


def _callback(query: str) -> dict[str, tuple[Reply, ...]]:
    location = f"http://127.0.0.1:50009/callback?{query}"
    return {"GET /authorize": (Reply(302, {"Location": location}, body=b""),)}


_CODED: dict[str, Any] = {
    "without-an-address": {"verification_uri": None},
    "with-many-addresses": {"verification_uri": [f"{ORIGIN}/enter"]},
    # It has expired before the first question may be asked.
    "that-expire-at-once": {"expires_in": 0.5},
}


SESSIONS: tuple[Reaction, ...] = (
    *(
        login(f"device-{name}", _POLLED, HELLO, auth=_DEVICE, replies=replies)
        for name, replies in {
            "slowed-down": {_TOKEN: (refusal("slow_down"), _PENDING, USUAL)},
            "failing-meanwhile": {_TOKEN: (plain(503), USUAL)},
            "dropped-meanwhile": {_TOKEN: (DROPPED, USUAL)},
            "in-odd-times": {
                "POST /device": (_codes(expires_in="soon", interval="-1"),),
                _TOKEN: (_PENDING, USUAL),
            },
            "with-another-interval": {
                "POST /device": (_codes(interval=2),),
                _TOKEN: (_PENDING, USUAL),
            },
        }.items()
    ),
    *(
        login(f"device-{name}", _SHOWN, HELLO, auth=_DEVICE, replies={"POST /device": (reply,)})
        for name, reply in {
            "with-an-unsafe-complete-address": _codes(verification_uri_complete="javascript:1"),
            "with-an-old-name": json(
                device_code="d", user_code="A", verification_url=f"{ORIGIN}/enter", interval=1
            ),
        }.items()
    ),
    login(
        "device-for-a-scope",
        _POLLED,
        HELLO,
        auth={**_DEVICE, "scope": "tools"},
        replies={_TOKEN: (_PENDING, USUAL)},
    ),
    *(
        login(
            f"device-codes-{name}",
            _GIVEN,
            HELLO,
            auth=_DEVICE,
            replies={"POST /device": (_codes(**members),)},
        )
        for name, members in _CODED.items()
    ),
    login(
        "device-unknown-to-the-server",
        _GIVEN,
        HELLO,
        auth=_DEVICE,
        replies={"POST /device": (refusal("invalid_client", 401),)},
    ),
    *(
        login(f"callback-{name}", _CALLED_BACK, HELLO, replies=_callback(query), **members)
        for name, query, members in (
            ("declined", "error=access_denied&error_description=no&state={state}", {}),
            ("with-an-empty-code", "code=&state={state}", {}),
            ("with-state-alone", "state={state}", {}),
            ("of-another-issuer", "code=c&state={state}&iss=https://example.com", {}),
            ("that-fails-elsewhere", "error=x&state={state}&iss=https://example.com", {}),
            ("without-issuer", "code=the-code-1&state={state}", _ISSUED),
            ("with-two-codes", "code=a&code=b&state={state}", {}),
            ("of-named-endpoints", f"code=c&state={{state}}&iss={ORIGIN}", {"auth": _NAMED}),
        )
    ),
    login(
        "scope-granted-narrower",
        _NARROWER,
        HELLO,
        PING,
        replies={
            "initialize": (refused(401, 'scope="tools more"'), USUAL),
            _TOKEN: (
                json(
                    access_token="the-token-with-the-number-1", token_type="Bearer", scope="tools"
                ),
                USUAL,
            ),
            "tools/call": (refused(403, 'error="insufficient_scope", scope="more"'), USUAL),
        },
    ),
)

"""Logins: 401 and 403 at each place, metadata, tokens that end, and what refuses them."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    ORIGIN,
    PING,
    TOOLS_CHANGED,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    plain,
    reaction,
    stream,
)

_CODE = {"grant": "authorization_code"}
_DEVICE = {"grant": "authorization_code", "device": True}
_PRM = "GET /.well-known/oauth-protected-resource/mcp"
_PRM_AT_ROOT = "GET /.well-known/oauth-protected-resource"
_AS = "GET /.well-known/oauth-authorization-server"
_OPENID = "GET /.well-known/openid-configuration"
_TOKEN = "POST /token"

_DISCOVERY = (
    "Authorization server discovery: metadata by the challenge or the well-known places; what is "
    "missing or invalid is an error."
)
_TOKENS = (
    "RFC 6749, 5: the fields of a token response; 5.2: its errors. Tokens are never sent twice."
)
_STEP_UP = (
    "Authorization, Step-Up: insufficient_scope leads to a login for the wider scope, in bounds."
)
_DEVICE_FLOW = (
    "RFC 8628, 3.5: authorization_pending and slow_down go on, other errors end the login."
)


def json(status: int = 200, /, **members: Any) -> Reply:
    """Return a document of the authorization server."""
    return Reply(status, result=members)


def refused(status: int, challenge: str = "") -> Reply:
    """Return a refusal of the server, with a challenge or none."""
    headers = {"WWW-Authenticate": f"Bearer {challenge}"} if challenge else {}
    return Reply(status, headers, body=b"")


def login(name: str, clause: str, *steps: Any, auth: Any = None, **members: Any) -> Reaction:
    """Return a session with a server that wants a login."""
    replies = members.pop("replies", {})
    plan = Plan(replies, login=True, **members)
    return reaction(f"login-{name}", clause, plan, *steps, auth=auth or _CODE)


def refusal(code: str, status: int = 400) -> Reply:
    """Return an error of the authorization server."""
    return json(status, error=code, error_description="as the plan says")


_FOUND = (
    login("as-usual", _DISCOVERY, HELLO, PING),
    login(
        "without-resource-metadata",
        _DISCOVERY,
        HELLO,
        replies={_PRM: (plain(404),), _PRM_AT_ROOT: (plain(404),)},
    ),
    login(
        "resource-metadata-at-the-root",
        _DISCOVERY,
        HELLO,
        replies={
            _PRM: (plain(404),),
            "initialize": (refused(401), USUAL),
            _PRM_AT_ROOT: (json(resource=ORIGIN, authorization_servers=[ORIGIN]),),
        },
    ),
    *(
        login(f"resource-metadata-{name}", _DISCOVERY, HELLO, replies={_PRM: (reply,)})
        for name, reply in {
            "of-another": json(resource="https://example.com/mcp", authorization_servers=["x"]),
            "of-all": json(resource=f"{ORIGIN}/", authorization_servers=[ORIGIN]),
            "of-a-part": json(resource=f"{ORIGIN}/mc", authorization_servers=[ORIGIN]),
            "with-a-slash": json(resource=f"{ORIGIN}/mcp/", authorization_servers=[ORIGIN]),
            "busy": plain(429),
            "of-a-query": json(resource=f"{ORIGIN}/mcp?a=1", authorization_servers=[ORIGIN]),
            "ill-typed": json(resource=f"{ORIGIN}/mcp", authorization_servers="one"),
            "without-servers": json(resource=f"{ORIGIN}/mcp", authorization_servers=[]),
            "no-json": plain(200, "<p>Hello</p>"),
            "failing": plain(500),
        }.items()
    ),
    *(
        login(f"metadata-{name}", _DISCOVERY, HELLO, replies={_AS: (reply,), _OPENID: (reply,)})
        for name, reply in {
            "missing": plain(404),
            "no-json": plain(200, "<p>Hello</p>"),
            "failing": plain(503),
            "empty": json(issuer=ORIGIN),
            "busy": plain(429),
        }.items()
    ),
    *(
        login(f"metadata-{name}", _DISCOVERY, HELLO, metadata=members)
        for name, members in {
            "without-challenge-methods": {"code_challenge_methods_supported": ["plain"]},
            "without-authorization": {"authorization_endpoint": None},
            "without-registration": {"registration_endpoint": None},
            "ill-typed": {"token_endpoint": 5},
            "of-another-issuer": {"issuer": "https://example.com"},
            "unsafe": {"authorization_endpoint": "javascript:alert(1)"},
            "with-a-query": {"authorization_endpoint": f"{ORIGIN}/authorize?tenant=1#part"},
            "offline": {"scopes_supported": ["tools", "offline_access"]},
            "basic": {"token_endpoint_auth_methods_supported": ["client_secret_basic"]},
        }.items()
    ),
    login(
        "scope-of-the-challenge",
        _DISCOVERY,
        HELLO,
        replies={"initialize": (refused(401, 'scope="tools more"'), USUAL)},
    ),
)

_TRUST = "Authorization server discovery: credentials go to the issuer that the user trusts only."
_ENDPOINTS = {
    "token_endpoint": f"{ORIGIN}/token",
    "authorization_endpoint": f"{ORIGIN}/authorize",
    "registration_endpoint": f"{ORIGIN}/register",
}
_OF_TENANT = {"options": {"issuer": f"{ORIGIN}/tenant"}}
_SECRET = {"client_id": "client-1", "client_secret": "the-secret-of-client-1"}
_LEGACY = {
    "initialize": (refused(401), USUAL),
    _PRM: (plain(404),),
    _PRM_AT_ROOT: (plain(404),),
    _AS: (
        json(issuer=f"{ORIGIN}/tenant", code_challenge_methods_supported=["S256"], **_ENDPOINTS),
    ),
}
_AS_CLIENT = {
    "client_secret": "the-secret-of-client-1",
    "options": {**_OF_TENANT["options"], "client_id": "client-1"},
}
_LEGACY_AND_OWN = {**_LEGACY, f"{_AS}/tenant": _LEGACY[_AS]}

_OTHERWISE = (
    *(
        login(f"for-{name}", _DISCOVERY, HELLO, PING, auth={**_CODE, **auth}, **members)
        for name, auth, members in (
            ("no-resource", {"options": {"resource": ""}}, {}),
            ("another-resource", {"options": {"resource": "https://example.com/mcp"}}, {}),
            ("an-account", {"options": {"account": "work"}}, {}),
            (
                "a-scope-offline",
                {"scope": "tools"},
                {"metadata": {"scopes_supported": ["tools", "offline_access"]}},
            ),
        )
    ),
    *(
        login(f"by-{name}", _TRUST, HELLO, auth={**_CODE, **auth}, replies=replies)
        for name, auth, replies in (
            ("named-endpoints", {"options": {"endpoints": _ENDPOINTS}}, {}),
            ("a-named-issuer", {"options": {"issuer": ORIGIN}}, {}),
            ("another-issuer", {"options": {"issuer": "https://example.com"}}, {}),
            ("an-issuer-named-elsewhere", _OF_TENANT, _LEGACY),
            ("an-issuer-named-elsewhere-with-a-secret", {**_OF_TENANT, **_SECRET}, _LEGACY),
            ("an-issuer-that-says-so-itself", _AS_CLIENT, _LEGACY_AND_OWN),
        )
    ),
    login(
        "at-the-root",
        "Authorization, Canonical Server URI: it SHOULD have no slash at its end.",
        HELLO,
        replies={"initialize": (refused(401), USUAL), _PRM_AT_ROOT: (plain(404),)},
        path="/",
    ),
    login(
        "for-a-workload",
        "RFC 7523, 2.1: an assertion for a token; a refusal is final.",
        HELLO,
        PING,
        replies={"ping": (refused(401, 'error="invalid_token"'), USUAL)},
        auth={"grant": "workload", "value": "the-assertion-of-a-workload"},
    ),
)

_REGISTERED = tuple(
    login(
        f"registration-{name}",
        "RFC 7591, 3.2: the response has a client_id, or says why not.",
        HELLO,
        replies={"POST /register": (reply,)},
    )
    for name, reply in {
        "refused": refusal("invalid_redirect_uri"),
        "without-id": json(201, client_name="somebody"),
        "with-a-secret": json(201, client_id="client-2", client_secret="the-secret-of-client-2"),
        "failing": plain(500),
    }.items()
)

_GRANTED = (
    *(
        login(f"token-{name}", _TOKENS, HELLO, replies={_TOKEN: (reply,)})
        for name, reply in {
            "without-access": json(token_type="Bearer"),
            "of-another-type": json(access_token="the-token-with-the-number-1", token_type="mac"),
            "refused": refusal("invalid_grant"),
            "client-unknown": refusal("invalid_client", 401),
            "failing": plain(503),
            "no-json": plain(200, "<p>Hello</p>"),
            **{
                f"that-lasts-{name}": json(
                    access_token="the-token-with-the-number-1", token_type="Bearer", expires_in=time
                )
                for name, time in {
                    "a-string": "3600",
                    "soon": "soon",
                    "nothing": 0,
                    "for-ever": None,
                }.items()
            },
        }.items()
    ),
    *(
        login(
            f"callback-{name}",
            "RFC 6749, 4.1.2: code and state, or an error.",
            HELLO,
            replies={
                "GET /authorize": (
                    Reply(302, {"Location": f"http://127.0.0.1:50009/callback?{query}"}, body=b""),
                )
            },
        )
        for name, query in {
            "refused": "error=access_denied&error_description=no",
            "without-code": "state=nobodys",
        }.items()
    ),
)

# A refusal that says more than anybody reads, and does not end.
_ENDLESS = Reply(
    401,
    {"WWW-Authenticate": 'Bearer scope="tools"'},
    events=(f"data: {'x' * 66_000}\n\n", Await("never")),
)

_RENEWED = (
    login(
        "token-renewed-early",
        "Logins: a token that is about to expire is renewed before it is refused.",
        HELLO,
        {"do": "pause", "seconds": 3.3},
        HELLO,
        PING,
        token_seconds=6,
    ),
    login(
        "refresh-refused",
        "RFC 6749, 6: a refresh token that is refused is given up; the user logs in anew.",
        HELLO,
        PING,
        replies={
            "tools/call": (refused(401, 'error="invalid_token"'), USUAL),
            _TOKEN: (USUAL, refusal("invalid_grant"), USUAL),
        },
    ),
    login(
        "refresh-keeps-what-is-left-out",
        "RFC 6749, 6: a response without a refresh token leaves the one before in force.",
        HELLO,
        HELLO,
        replies={
            "tools/call": (*(refused(401, 'error="invalid_token"'), USUAL) * 2,),
            _TOKEN: (
                USUAL,
                json(access_token="the-token-with-the-number-2", token_type="bearer"),
                USUAL,
            ),
        },
    ),
    login(
        "challenged-in-several-schemes",
        _DISCOVERY,
        HELLO,
        replies={
            "initialize": (
                Reply(
                    401,
                    {"WWW-Authenticate": 'Basic realm="a, b", scope="c", BEARER Scope = "d\\"e f"'},
                    body=b"",
                ),
                USUAL,
            )
        },
    ),
    login(
        "refresh-fails-for-now",
        "RFC 6749, 5.2: a server that fails has not refused the token.",
        HELLO,
        PING,
        replies={
            "tools/call": (refused(401, 'error="invalid_token"'), USUAL),
            _TOKEN: (USUAL, plain(503), USUAL),
        },
    ),
    login(
        "refresh-by-a-client-forgotten",
        "RFC 6749, 5.2: invalid_client; RFC 7591: the client registers again.",
        HELLO,
        PING,
        replies={
            "tools/call": (refused(401, 'error="invalid_token"'), USUAL),
            _TOKEN: (USUAL, refusal("invalid_client", 401), USUAL),
        },
    ),
    *(
        login(
            f"refused-at-{name}",
            "Logins: 401 says that a token is needed or invalid; nobody goes round.",
            HELLO,
            PING,
            replies={method: replies},
        )
        for name, method, replies in (
            ("a-call", "tools/call", (refused(401), USUAL)),
            ("a-call-always", "tools/call", (refused(401, 'error="invalid_token"'),)),
            ("hello-always", "initialize", (refused(401),)),
            ("initialized", "notifications/initialized", (refused(401), USUAL)),
            ("the-stream", "GET", (refused(401), plain(405))),
            ("hello-without-end", "initialize", (_ENDLESS, USUAL)),
            ("the-stream-always", "GET", (refused(401),)),
            ("the-end", "DELETE", (refused(401),)),
        )
    ),
    login(
        "refused-in-a-resumption",
        "Logins: each request carries the token, also a GET that resumes.",
        HELLO,
        PING,
        replies={
            "tools/call": (stream("id: event-1\nretry: 50\ndata: \n\n", cut=True),),
            "GET": (plain(405), refused(401, 'error="invalid_token"'), stream(ANSWER)),
        },
    ),
    login(
        "refused-at-the-stream-later",
        "Logins: each request carries the token, also a GET that reconnects.",
        {"do": "wait_for", "method": "notifications/tools/list_changed", "count": 2},
        PING,
        replies={
            "GET": (
                stream("retry: 50\n\n", TOOLS_CHANGED, Await("notifications/initialized")),
                refused(401, 'error="invalid_token"'),
                stream(TOOLS_CHANGED, Await("DELETE")),
            )
        },
    ),
)

_WIDENED = (
    *(
        login(f"scope-{name}", _STEP_UP, HELLO, PING, replies={"tools/call": replies})
        for name, replies in {
            "wider": (refused(403, 'error="insufficient_scope", scope="tools more"'), USUAL),
            "never-enough": (refused(403, 'error="insufficient_scope", scope="all"'),),
            "unnamed": (refused(403, 'error="insufficient_scope"'), USUAL),
            "forbidden": (refused(403, 'error="other"'), USUAL),
        }.items()
    ),
    *(
        login(f"device-{name}", _DEVICE_FLOW, HELLO, auth=_DEVICE, replies=replies)
        for name, replies in {
            "at-once": {},
            "pending": {_TOKEN: (refusal("authorization_pending"),) * 2 + (USUAL,)},
            "denied": {_TOKEN: (refusal("access_denied"),)},
            "expired": {_TOKEN: (refusal("authorization_pending"), refusal("expired_token"))},
            "refused": {_TOKEN: (refusal("invalid_grant"),)},
            "without-code": {"POST /device": (json(user_code="ABCD-EFGH"),)},
            "without-user-code": {
                "POST /device": (json(device_code="d", verification_uri=f"{ORIGIN}/enter"),)
            },
            "unsafe": {
                "POST /device": (
                    json(device_code="d", user_code="A", verification_uri="javascript:alert(1)"),
                )
            },
        }.items()
    ),
)

SESSIONS: tuple[Reaction, ...] = (
    *_FOUND,
    *_OTHERWISE,
    *_REGISTERED,
    *_GRANTED,
    *_RENEWED,
    *_WIDENED,
)

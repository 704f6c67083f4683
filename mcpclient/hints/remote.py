"""Hints about remote servers, the way to them, and logins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .words import CHECK_ENDPOINT, SERVER_FAILED, Hint, by_field

_WAIT = "Wait and call again{or_retry}."

_NEGOTIATE = "{0} accepts only {1}: log in as the user of this system, with {{2}}"
_NTLM = (
    "{0} accepts only NTLM, which this client does not speak without Negotiate: use a local proxy "
    "that logs in for you (such as px or cntlm) as {proxy}"
)
_STICKY = (
    "The server forgets its sessions at once: if several instances share this address, have the "
    "balancer keep a session on one of them (by Mcp-Session-Id)."
)


def _negotiated(who: str, scheme: str) -> str:
    if scheme.upper() == "NTLM":
        return _NTLM.replace("{0}", who)
    option = "proxy_negotiate" if who == "The proxy" else "negotiate"
    return _NEGOTIATE.replace("{0}", who).replace("{1}", scheme).replace("{2}", option)


_AUTHORITY = "If you trust the server, give the PEM file of its authority as {ca_file}, or in"
CONNECTING = {
    "unknown_host": "Check the name of the host in the URL.",
    "refused": "Start the server, and check the port in the URL.",
    "proxy": "Check {proxy}, HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.",
    "proxy_credentials": (
        "Write the proxy's user and password into its URL: {proxy} …://user:password@host:port"
    ),
    "proxy_login": "Look at your tickets with klist; the proxy may not accept this user.",
    "not_tls": "Write http:// instead of https:// (ws:// instead of wss://).",
    "tls": "Check that the server speaks TLS 1.2 or later on this port.",
    "certificate": f"{_AUTHORITY} SSL_CERT_FILE.",
    "self_signed": (
        "If you trust the server, give its certificate as {ca_file}, or in SSL_CERT_FILE."
    ),
    "unknown_authority": (
        f"{_AUTHORITY} SSL_CERT_FILE. Where a proxy of your network inspects TLS, it is that "
        "authority, and its operator has the file."
    ),
    "expired": "Have the server get a new certificate; {any_certificate}.",
    "not_yet_valid": "Check the clock of this machine; {any_certificate} certificate.",
    "other_host": "Connect by a name that the certificate is for; {any_certificate}.",
    "client_certificate": "Give a certificate that the server accepts as {client_cert}.",
    "closed_early": "Check the port and the scheme of the URL, then the server's log.",
    "not_an_endpoint": CHECK_ENDPOINT,
}
_REGISTER = (
    "Ask the operator of the authorization server for a client_id, or give a token of your own as "
    "{auth}"
)
_TOKEN = "The server needs a token: give it as {token}, or under headers in its configuration file."


def names_no_login(error: BaseException) -> bool:
    """Whether a server refused a request without naming where to log in: it wants a plain token."""
    cause: Any = error.__cause__
    challenges = "".join(getattr(cause, "authenticate", ()))
    return getattr(cause, "status", 0) == 401 and "resource_metadata" not in challenges


_LOGIN_PAGE = re.compile(
    r"(?i)log-?[io]n|sign-?in|auth|sso|portal|saml|adfs|\bidp\b|okta|openid|accounts?\.|/cas\b"
)


def _http(error: Any) -> str:
    wait = error.headers.get("retry-after", "")
    if error.status in (429, 503) and wait.isdigit():
        return f"Wait {wait} seconds and call again{{or_retry}}."
    if 300 <= error.status < 400:
        location = error.headers.get("location", "").split("?")[0]
        if _LOGIN_PAGE.search(location):
            return f"It sends browsers to a login at {location}. {{identify}}\0{error.url}"
        return f"Use the address that it names: {location}" if location else CHECK_ENDPOINT
    if b"HTTPS" in error.body and error.status == 400:
        return "The server wants TLS on this port: write https:// instead of http://"
    if error.negotiated:
        return _negotiated("The proxy" if error.status == 407 else "The server", error.negotiated)
    if error.status == 401:
        is_refused = "invalid_token" in "".join(error.authenticate)
        return f"{'The token was refused. ' if is_refused else ''}{{identify}}\0{error.url}"
    if error.status == 403 and "html" in error.headers.get("content-type", "").lower():
        return (
            "A gateway in front of the server refused this with a page: log in to its network, or "
            "have it let this client through (with a header of its own, for instance)."
        )
    by_status = {
        403: "{credentials}",
        407: "Give the proxy's user and password in the URL of {proxy}.",
        429: _WAIT,
        503: _WAIT,
    }
    return by_status.get(error.status, SERVER_FAILED if error.status >= 500 else CHECK_ENDPOINT)


def _not_connected(error: Any) -> str:
    first = error.attempts[0] if error.attempts else None
    if error.kind == "not_an_endpoint" and hasattr(first, "status"):
        return _http(first)
    if error.kind == "proxy_negotiate":
        return _negotiated("The proxy", "NTLM" if "by NTLM" in error.reason else "Negotiate")
    hint: str = CONNECTING[error.kind]
    return hint


REMOTE: Mapping[str, Hint] = {
    "HttpError": _http,
    "SessionExpired": lambda error: _STICKY if error.is_new else "Connect again.",
    "ConnectFailed": _not_connected,
    "CallTimeout": CONNECTING["proxy"],
    "AuthError": (
        "Log in once more; if that does not help, ask the server's operator, or give a token of "
        "your own as {auth}"
    ),
    "AuthorizationRequired": "{visit}",
    "AuthorizationDenied": "Log in again and agree, or use another account.",
    "RegistrationRequired": lambda error: _TOKEN if names_no_login(error) else _REGISTER,
    "TokenRequestFailed": by_field(
        "is_refusal",
        "Try again later: something is wrong at the token endpoint.",
        {True: "Check client_id and secret, or log in again."},
    ),
    "InsufficientScope": "Ask the server's operator which account may do this.",
    "SsrfError": "Ask the server's operator for correct metadata; allowed_hosts= makes exceptions.",
}

"""HTTP as the flows use it: guarded, bounded, and without a redirect for anything secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from ..display import shown_url
from ..errors import AuthError
from .effects import Fetch, Flow, Response, fetch
from .url_guard import UrlPolicy, assert_safe_url, resolve

# Metadata of real servers has a few kilobytes.
MAX_BODY = 256 * 1024

_MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def get_document(
    url: str, issuer_url: str | None, policy: UrlPolicy, headers: Mapping[str, str]
) -> Flow[Response]:
    """GET ``url``; a few redirects are followed, each only after the guard has seen it.

    Raises SsrfError for a URL, or a redirect, to where the policy does not allow; AuthError for
    too large an answer and too many redirects.
    """
    for _ in range(_MAX_REDIRECTS + 1):
        assert_safe_url(url, issuer_url, policy)
        request = Fetch(
            "GET", url, {"Accept": "application/json", **headers}, None, policy, MAX_BODY
        )
        response = yield from fetch(request)
        location = response.header("location")
        if response.status not in _REDIRECTS or location is None:
            return response
        url = resolve(url, location)
    raise AuthError(f"{shown_url(url)}: too many redirects")


def post(
    url: str,
    issuer_url: str | None,
    policy: UrlPolicy,
    headers: Mapping[str, str],
    body: bytes | Sequence[tuple[str, str]],
) -> Flow[Response]:
    """POST a form (pairs) or JSON (bytes) to an endpoint of the authorization server.

    A redirect is an error: it would hand secrets on. Raises SsrfError and AuthError.
    """
    assert_safe_url(url, issuer_url, policy)
    if isinstance(body, bytes):
        content_type, content = "application/json", body
    else:
        content_type, content = "application/x-www-form-urlencoded", urlencode(body).encode()
    every_header = {"Accept": "application/json", "Content-Type": content_type, **headers}
    response = yield from fetch(Fetch("POST", url, every_header, content, policy, MAX_BODY))
    if response.status in _REDIRECTS:
        raise AuthError(f"{shown_url(url)} answered with a redirect, which is not followed")
    return response

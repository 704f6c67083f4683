"""The device authorization grant: the user enters a code on any device (RFC 8628)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import AuthError, AuthorizationDenied, NetworkError, TokenRequestFailed
from .client_authentication import RegisteredClient, authenticate
from .effects import Flow, ShowDeviceCode, now, show_device_code, wait
from .exchanges import post
from .grants import Grant, GrantRequest
from .metadata import parse_object
from .options import OAuth
from .registration import DEVICE_GRANT, identify_client
from .tokens import raise_for_error
from .url_guard import assert_safe_url

_DEFAULT_INTERVAL = 5.0
_SLOW_DOWN = 5.0
_MIN_INTERVAL, _MAX_INTERVAL = 1.0, 60.0
_MAX_LIFETIME = 3600.0

_USER_CODE = re.compile(r"[!-~]{1,64}", re.ASCII)


def obtain(request: GrantRequest, options: OAuth, endpoint: str) -> Flow[Grant]:
    """The grant a user gives by entering the code that is shown.

    ``endpoint`` is the server's device_authorization_endpoint. Raises AuthorizationDenied when the
    user declines or the code expires, and what registration and token requests raise.
    """
    server = request.discovery.server
    client = yield from identify_client(server, options, None, request.scopes, request.policy)
    fields = yield from _request_codes(request, client, endpoint)
    device_code, prompt = _read_codes(fields, request)
    yield from show_device_code(prompt)
    interval = _seconds(fields.get("interval"), _DEFAULT_INTERVAL)
    interval = min(max(interval, _MIN_INTERVAL), _MAX_INTERVAL)
    deadline = (yield from now()) + prompt.expires_in
    form = [("grant_type", DEVICE_GRANT), ("device_code", device_code)]
    while True:
        yield from wait(interval)
        if (yield from now()) > deadline:
            raise AuthorizationDenied("expired_token", "the code was not entered in time")
        try:
            return (yield from request.obtain(client, form, name_scopes=False))
        except TokenRequestFailed as error:
            interval += _slower(error)
        except NetworkError:
            # Section 3.5: a client that met a timeout must ask less often.
            interval = min(interval * 2, _MAX_INTERVAL)


def _slower(error: TokenRequestFailed) -> float:
    """How many seconds longer to wait before the next try; raises when there is none."""
    if error.error == "authorization_pending":
        return 0.0
    if error.error == "slow_down":
        return _SLOW_DOWN
    if error.error in ("access_denied", "expired_token"):
        raise AuthorizationDenied(error.error, error.description) from None
    if error.is_refusal or error.status < 400:
        raise error
    return _SLOW_DOWN  # the server is in trouble, while the user may be entering the code


def _request_codes(
    request: GrantRequest, client: RegisteredClient, endpoint: str
) -> Flow[Mapping[str, object]]:
    form: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    if request.scopes:
        form.append(("scope", " ".join(request.scopes)))
    if request.resource is not None:
        form.append(("resource", request.resource))
    yield from authenticate(client, form, headers)
    response = yield from post(
        endpoint, request.discovery.server.issuer, request.policy, headers, form
    )
    fields = parse_object(response.body) or {}
    raise_for_error(response, fields, (client.client_secret,) if client.client_secret else ())
    return fields


def _read_codes(fields: Mapping[str, object], request: GrantRequest) -> tuple[str, ShowDeviceCode]:
    device_code, user_code = fields.get("device_code"), fields.get("user_code")
    # Google's name for the field is older than the standard.
    address = fields.get("verification_uri", fields.get("verification_url"))
    complete = fields.get("verification_uri_complete")
    if not isinstance(device_code, str) or not isinstance(address, str):
        raise AuthError("the device authorization answer lacks device_code or verification_uri")
    if not isinstance(user_code, str) or not _USER_CODE.fullmatch(user_code):
        raise AuthError("the device authorization answer has no user_code that can be shown")
    # The user is led there as to an authorization endpoint; often it is a short address elsewhere.
    assert_safe_url(address, None, request.policy)
    if isinstance(complete, str):
        assert_safe_url(complete, None, request.policy)
    lifetime = _seconds(fields.get("expires_in"), _MAX_LIFETIME)
    prompt = ShowDeviceCode(
        user_code=user_code,
        verification_uri=address,
        verification_uri_complete=complete if isinstance(complete, str) else None,
        expires_in=min(lifetime, _MAX_LIFETIME),
    )
    return device_code, prompt


def _seconds(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return default
    return float(min(value, _MAX_LIFETIME))

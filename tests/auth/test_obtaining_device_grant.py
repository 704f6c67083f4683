from __future__ import annotations

from typing import Any

import pytest

from mcpclient.auth.effects import Fetch, Response
from mcpclient.auth.grants import Grant
from mcpclient.auth.obtaining import by_device
from mcpclient.auth.options import OAuth
from mcpclient.errors import AuthError, AuthorizationDenied, ConnectionLost, SsrfError
from tests.support.tables import each_row

from .world import TOKEN, World, form_of, grant_request, json_response

DEVICE = "https://auth.example/device"
CODES: dict[str, object] = {
    "device_code": "d3vice",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://short.example/link",
    "expires_in": 100,
    "interval": 5,
}


def run(world: World, options: OAuth | None = None, **asked: Any) -> Grant:
    return world.run(by_device(grant_request(**asked), options or OAuth(client_id="id"), DEVICE))


def scene(*answers: object, **codes: object) -> World:
    """A world whose token endpoint gives ``answers``: an error code, a failure, or None for yes."""
    world = World()
    fields = {name: value for name, value in {**CODES, **codes}.items() if value is not None}
    world.on("POST", DEVICE, json_response(fields))
    remaining = iter(answers)

    def token(_: Fetch) -> Response:
        answer = next(remaining)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Response):
            return answer
        if answer is None:
            return json_response({"access_token": "t"})
        return json_response({"error": answer}, 400)

    world.on("POST", TOKEN, token)
    return world


def test_the_user_enters_the_code() -> None:
    """F-AUTH-8: RFC 8628: shown once, polled at the interval, slower when told."""
    world = scene("authorization_pending", "slow_down", "authorization_pending", None)
    grant = run(world, scopes=("a",), resource="r")
    assert grant.tokens.access_token == "t"
    assert world.waited == [5, 5, 10, 10]
    shown = world.codes[0]
    assert (shown.user_code, shown.verification_uri) == ("WDJB-MJHT", "https://short.example/link")
    assert shown.expires_in == 100
    assert form_of(world.fetched[0]) == {"scope": "a", "resource": "r", "client_id": "id"}
    assert form_of(world.fetched[1]) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": "d3vice",
        "resource": "r",
        "client_id": "id",
    }


@pytest.mark.parametrize("error", ["access_denied", "expired_token"])
def test_the_user_says_no(error: str) -> None:
    """F-AUTH-8: no more polling."""
    world = scene(error)
    with pytest.raises(AuthorizationDenied, match=error):
        run(world)


def test_the_code_runs_out() -> None:
    """F-AUTH-8: a server that says "pending" for ever is left after expires_in."""
    world = scene(*["authorization_pending"] * 100)
    with pytest.raises(AuthorizationDenied, match="in time"):
        run(world)
    assert sum(world.waited) <= 105


def test_a_lost_connection_slows_down() -> None:
    """F-AUTH-8: RFC 8628 section 3.5."""
    lost = [ConnectionLost("x")] * 5
    world = scene(*lost, None, expires_in=1000)
    run(world)
    assert world.waited == [5, 10, 20, 40, 60, 60]


def test_a_server_in_trouble_is_asked_again() -> None:
    """F-AUTH-8: the user may be entering the code just now, and would have to begin anew."""
    world = scene(Response(503, (), b"<h1>later</h1>"), "temporarily_unavailable", None)
    assert run(world).tokens.access_token == "t"
    assert world.waited == [5, 10, 15]


@each_row(
    ("fields", "first_wait", "lifetime"),
    [
        ({"interval": None, "expires_in": None}, 5, 3600),
        ({"interval": 0, "expires_in": -1}, 5, 3600),
        ({"interval": 0.001, "expires_in": 10**30}, 1, 3600),
        ({"interval": 10**30, "expires_in": True}, 60, 3600),
        ({"interval": "7", "expires_in": "9"}, 5, 3600),
    ],
)
def test_strange_times_are_bounded(
    fields: dict[str, object], first_wait: float, lifetime: float
) -> None:
    """F-AUTH-8: whatever a server says, it is not polled without pause or for ever."""
    world = scene(None, **fields)
    run(world)
    assert form_of(world.fetched[0]) == {"client_id": "id"}, "nobody wants scopes or a resource"
    assert "resource" not in form_of(world.fetched[1])
    assert world.waited == [first_wait]
    assert world.codes[0].expires_in == lifetime


@pytest.mark.parametrize("field", ["verification_uri", "verification_uri_complete"])
def test_an_address_is_guarded(field: str) -> None:
    """F-AUTH-10: the user is not sent to his own router."""
    with pytest.raises(SsrfError):
        run(scene(None, **{field: "http://192.168.0.1/"}))


@each_row(
    "fields",
    [
        {"device_code": None},
        {"device_code": 7},
        {"user_code": None},
        {"user_code": "\x1b[2J"},
        {"user_code": "x" * 100},
        {"verification_uri": None},
    ],
)
def test_an_answer_without_codes_is_an_error(fields: dict[str, object]) -> None:
    """F-AUTH-8: types are checked, and text for the terminal is escaped."""
    with pytest.raises(AuthError, match="device authorization response"):
        run(scene(None, **fields))

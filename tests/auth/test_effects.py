from __future__ import annotations

import pytest

from mcpclient.auth.effects import (
    Ask,
    Authorize,
    Callback,
    Exclusive,
    Fetch,
    Flow,
    Load,
    Now,
    OpenRedirect,
    RandomBytes,
    Response,
    Save,
    ShowDeviceCode,
    Wait,
    authorize,
    exclusive,
    fetch,
    load,
    now,
    open_redirect,
    random_bytes,
    save,
    show_device_code,
    token_from,
    wait,
)
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import AuthError

SECRET = "s3cret-value"


def fetch_effect(body: bytes | None = None) -> Fetch:
    url = f"https://h.example/p?code={SECRET}"
    return Fetch("POST", url, {"Authorization": SECRET}, body, UrlPolicy(), 10)


def code_effect() -> ShowDeviceCode:
    return ShowDeviceCode(SECRET, "https://h.example/d", f"https://h.example/d?c={SECRET}", 1.0)


def empty() -> Flow[None]:
    yield from wait(0)


@pytest.mark.parametrize(
    ("effect", "shown"),
    [
        (fetch_effect(SECRET.encode()), "Fetch(POST https://h.example/p)"),
        (Response(200, [("X", SECRET)], SECRET.encode()), "Response(status=200, 12 bytes)"),
        (
            Authorize(f"https://h.example/a?x={SECRET}", SECRET, "r"),
            "Authorize(https://h.example/a)",
        ),
        (Callback(SECRET, SECRET), "Callback()"),
        (Callback(None, SECRET, error="x", error_description=SECRET), "Callback(error)"),
        (code_effect(), "ShowDeviceCode(https://h.example/d)"),
        (Save("key", {"a": SECRET}), "Save(key='key')"),
        (Load("key"), "Load(key='key')"),
        (Ask(lambda: SECRET), "Ask()"),
        (OpenRedirect("http://r", (SECRET,)), "OpenRedirect(configured='http://r')"),
        (Exclusive("name", empty()), "Exclusive('name')"),
    ],
)
def test_no_effect_shows_a_secret(effect: object, shown: str) -> None:
    """F-AUTH-12: effects are what a shell may log."""
    assert repr(effect) == shown
    assert SECRET not in str(effect)


def answer(flow: Flow[object], value: object) -> tuple[object, object]:
    """The effect a flow yields, and what it makes of the answer."""
    effect = next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.send(value)
    return effect, stop.value.value


def test_each_helper_yields_its_effect_and_returns_the_answer() -> None:
    """F-AUTH-5: the whole interface between flows and shell."""
    callback = Callback("c", "s")
    function = str
    assert answer(open_redirect(None, ("a",)), "b") == (OpenRedirect(None, ("a",)), "b")
    assert answer(authorize("u", "s", "r"), callback) == (Authorize("u", "s", "r"), callback)
    assert answer(show_device_code(code_effect()), None) == (code_effect(), None)
    assert answer(now(), 1.5) == (Now(), 1.5)
    assert answer(wait(2.0), None) == (Wait(2.0), None)
    assert answer(random_bytes(2), b"ab") == (RandomBytes(2), b"ab")
    assert answer(load("k"), {"a": 1}) == (Load("k"), {"a": 1})
    assert answer(save("k", None), None) == (Save("k", None), None)
    assert answer(token_from(function), "x") == (Ask(function), "x")
    inner = empty()
    effect, result = answer(exclusive("n", inner), None)
    assert isinstance(effect, Exclusive)
    assert effect.flow is inner
    assert result is None


@pytest.mark.parametrize("stored", [None, 7, "text", ["list"]])
def test_what_is_no_record_is_none(stored: object) -> None:
    """F-AUTH-9: a host's store may hold anything."""
    assert answer(load("k"), stored) == (Load("k"), None)


def test_too_long_a_body_is_an_error() -> None:
    """F-AUTH-1: whatever the shell let through."""
    response = Response(200, [], b"x" * 10)
    assert answer(fetch(fetch_effect()), response)[1] is response
    flow = fetch(fetch_effect())
    next(flow)
    with pytest.raises(AuthError, match="more than 10 bytes") as caught:
        flow.send(Response(200, [], b"x" * 11))
    assert SECRET not in str(caught.value)


def test_headers_are_found_in_any_case() -> None:
    """F-AUTH-1: several fields of one name, in order."""
    response = Response(401, [("WWW-Authenticate", "a"), ("www-authenticate", "b")], b"")
    assert response.header_values("Www-Authenticate") == ["a", "b"]
    assert response.header("WWW-AUTHENTICATE") == "a"
    assert response.header("x") is None

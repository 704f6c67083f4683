from __future__ import annotations

import pytest

from mcpclient.auth.effects import (
    Ask,
    Authorize,
    Callback,
    Effect,
    Exclusive,
    Fetch,
    Flow,
    Load,
    OpenRedirect,
    Response,
    Save,
    ShowDeviceCode,
    Wait,
)
from mcpclient.auth.url_guard import UrlPolicy

SECRET = "s3cret-value"


def fetch_effect(body: bytes | None = None) -> Fetch:
    url = f"https://h.example/p?code={SECRET}"
    return Fetch("POST", url, {"Authorization": SECRET}, body, UrlPolicy(), 10)


def code_effect() -> ShowDeviceCode:
    return ShowDeviceCode(SECRET, "https://h.example/d", f"https://h.example/d?c={SECRET}", 1.0)


def empty() -> Flow[None]:
    yield from Wait(0)


@pytest.mark.parametrize(
    ("effect", "shown"),
    [
        (fetch_effect(SECRET.encode()), "Fetch(POST https://h.example/p)"),
        (Response(200, [("X", SECRET)], SECRET.encode()), "Response(status=200)"),
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
        (Exclusive("name", empty()), "Exclusive(name='name')"),
    ],
)
def test_no_effect_shows_a_secret(effect: object, shown: str) -> None:
    """F-AUTH-12: effects are what a shell may log."""
    assert repr(effect) == shown
    assert SECRET not in str(effect)


def answer(asked: Effect[object] | Flow[object], value: object) -> tuple[object, object]:
    """The effect that comes out, and what becomes of the answer."""
    flow = iter(asked)
    effect = next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.send(value)
    return effect, stop.value.value


@pytest.mark.parametrize("stored", [None, 7, "text", ["list"]])
def test_what_is_no_record_is_none(stored: object) -> None:
    """F-AUTH-9: a host's store may hold anything."""
    assert answer(Load("k"), stored) == (Load("k"), None)


def test_headers_are_found_in_any_case() -> None:
    """F-AUTH-1: several fields of one name, in order."""
    response = Response(401, [("WWW-Authenticate", "a"), ("www-authenticate", "b")], b"")
    assert response.header_values("Www-Authenticate") == ["a", "b"]
    assert response.header("WWW-AUTHENTICATE") == "a"
    assert response.header("x") is None

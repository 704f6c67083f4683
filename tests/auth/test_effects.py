from __future__ import annotations

from mcpclient.auth.effects import (
    Ask,
    Authorize,
    Callback,
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
from tests.support.tables import each_row

SECRET = "s3cret-value"


def fetch_effect(body: bytes | None = None) -> Fetch:
    url = f"https://h.example/p?code={SECRET}"
    return Fetch("POST", url, {"Authorization": SECRET}, body, UrlPolicy(), 10)


def code_effect() -> ShowDeviceCode:
    return ShowDeviceCode(SECRET, "https://h.example/d", f"https://h.example/d?c={SECRET}", 1.0)


def empty() -> Flow[None]:
    yield from Wait(0)


@each_row(
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
    """F-AUTH-12: effects may be logged."""
    assert repr(effect) == shown
    assert SECRET not in str(effect)

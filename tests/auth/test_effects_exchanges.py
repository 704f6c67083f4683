from __future__ import annotations

import pytest

from mcpclient.auth.effects import MAX_BODY, Response, get_document, post
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import AuthError, SsrfError

from .world import World

URL = "https://auth.example/metadata"
STRICT = UrlPolicy()


def redirect(target: str, status: int = 302) -> Response:
    return Response(status, [("Location", target)], b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_after_the_guard_saw_it(status: int) -> None:
    """F-AUTH-10: relative and absolute ones, within the same host."""
    world = World()
    world.on("GET", URL, redirect("/moved", status))
    world.on("GET", "https://auth.example/moved", Response(200, [], b"{}"))
    response = world.run(get_document(URL, "https://auth.example", STRICT, {"X": "1"}))
    assert response.status == 200
    sent = {"Accept": "application/json", "X": "1"}
    assert [request.headers for request in world.fetched] == [sent, sent]


@pytest.mark.parametrize(
    "target",
    [
        *("http://auth.example/x", "https://127.0.0.1/x", "https://0x7f.1/x"),
        *("https://evil.example/x", "file:///etc/passwd", "//169.254.169.254/latest", "http://["),
    ],
)
def test_a_redirect_to_elsewhere_is_not(target: str) -> None:
    """F-AUTH-10: to a private host, or to another one than the issuer's."""
    world = World()
    world.on("GET", URL, redirect(target))
    with pytest.raises(SsrfError):
        world.run(get_document(URL, "https://auth.example", STRICT, {}))
    assert world.urls() == [URL]


def test_the_guard_comes_before_the_request() -> None:
    """F-AUTH-10: a forbidden URL gets no request at all."""
    world = World()
    with pytest.raises(SsrfError):
        world.run(get_document("https://10.0.0.1/", None, STRICT, {}))
    with pytest.raises(SsrfError):
        world.run(post("https://10.0.0.1/", None, STRICT, {}, [("a", "b")]))
    assert not world.fetched


def test_redirects_have_an_end() -> None:
    """F-AUTH-1: a loop costs four requests."""
    world = World()
    world.on("GET", URL, redirect(URL))
    with pytest.raises(AuthError, match="too many redirects"):
        world.run(get_document(URL, None, STRICT, {}))
    assert len(world.fetched) == 4


def test_a_megabyte_of_metadata_is_refused() -> None:
    """F-AUTH-1: the shell gets the limit, and it is checked again."""
    world = World()
    world.on("GET", URL, Response(200, [], b" " * (MAX_BODY + 1)))
    with pytest.raises(AuthError, match="more than"):
        world.run(get_document(URL, None, STRICT, {}))
    assert world.fetched[0].max_body == MAX_BODY
    assert world.fetched[0].policy is STRICT


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_secret_is_not_redirected(status: int) -> None:
    """F-AUTH-10: a token endpoint that redirects is an error."""
    world = World()
    world.on("POST", URL, redirect("https://auth.example/other", status))
    with pytest.raises(AuthError, match="redirect"):
        world.run(post(URL, None, STRICT, {}, []))
    assert len(world.fetched) == 1

"""One response on a connection of its own: F-WIRE-5 and F-HTTP-7."""

from __future__ import annotations

import pytest

from mcpclient.errors import ConnectionLost, ProtocolViolation
from mcpclient.framing.http1 import GatheredResponse

WHOLE = (
    b"HTTP/1.1 100 Go on\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
)


def gathered(method: str = "GET", longest_body: int = 100) -> GatheredResponse:
    response = GatheredResponse(longest_body)
    response.parser.start(method)
    return response


@pytest.mark.parametrize("step", [1, 7, len(WHOLE)])
def test_a_response_is_gathered_from_any_pieces(step: int) -> None:
    response = gathered()
    heads = [response.feed(WHOLE[start : start + step]) for start in range(0, len(WHOLE), step)]
    assert [head.status for head in heads if head is not None] == [200]
    assert response.head is not None and response.head.status == 200
    assert bytes(response.body) == b"hello world"
    assert response.is_complete
    assert response.parser.fault is None


@pytest.mark.parametrize("step", [1, len(WHOLE)])
def test_no_more_of_the_body_is_kept_than_wanted(step: int) -> None:
    response = gathered(longest_body=7)
    for start in range(0, len(WHOLE), step):
        response.feed(WHOLE[start : start + step])
    assert bytes(response.body) == b"hello w"
    assert response.is_complete


def test_a_body_without_an_end_of_its_own_ends_with_the_bytes() -> None:
    response = gathered()
    response.feed(b"HTTP/1.1 200 OK\r\n\r\nhello")
    assert not response.is_complete
    response.feed(None)
    assert response.is_complete
    assert bytes(response.body) == b"hello"


def test_a_response_that_is_cut_short() -> None:
    response = gathered()
    response.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
    response.feed(None)
    assert not response.is_complete
    assert isinstance(response.parser.fault, ConnectionLost)
    assert bytes(response.body) == b"hello"


def test_what_is_no_http() -> None:
    response = gathered()
    assert response.feed(b"SSH-2.0-OpenSSH\r\n\r\n") is None
    assert isinstance(response.parser.fault, ProtocolViolation)
    assert response.head is None and not response.is_complete


def test_what_comes_after_the_head_of_a_tunnel_is_no_body() -> None:
    response = gathered("CONNECT")
    head = response.feed(b"HTTP/1.1 200 OK\r\n\r\nearly")
    assert head is not None and head is response.head
    assert response.is_complete
    assert response.parser.trailing == b"early"
    assert not response.body

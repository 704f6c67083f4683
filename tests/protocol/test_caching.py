"""The results that are kept, for whom, and until when: F-API-15."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import PeerError
from mcpclient.protocol.caching import Key, ResponseCache, key_of, lifetime_of
from tests.support.tables import each_row

ME, YOU = (("authorization", "Bearer me"),), (("authorization", "Bearer you"),)


def key(method: str = "tools/list", **params: Any) -> Key:
    found = key_of(method, params)
    assert found is not None
    return found


def result(ttl: object = 60_000, scope: object = "private", **fields: Any) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": ttl, "cacheScope": scope, **fields}


def test_an_interim_result_is_not_kept() -> None:
    """F-API-15: input_required results are not cacheable, whatever they claim."""
    assert lifetime_of({"resultType": "input_required", "ttlMs": 1000}) == 0


def test_params_make_the_key_and_tracing_does_not() -> None:
    """F-API-15: a request with other params is another request."""
    assert key("resources/read", uri="a") != key("resources/read", uri="b")
    assert key(cursor="1") != key() != key(_meta={"tenant": "x"})
    assert key(cursor="1", other="2") == key(other="2", cursor="1")
    traced = {"traceparent": "00-1", "tracestate": "x", "baggage": "y", "progressToken": 3}
    assert key(_meta={"tenant": "x", **traced}) == key(_meta={"tenant": "x"})
    assert key_of("tools/list", None) == key_of("tools/list", {})


def test_the_number_of_results_is_bounded() -> None:
    """F-API-15: what was used longest ago goes first."""
    cache = ResponseCache(entries=2)
    for uri in "ab":
        cache.keep(key("resources/read", uri=uri), ME, result(), now=0)
    cache.find(key("resources/read", uri="a"), ME, now=1)
    cache.keep(key("resources/read", uri="c"), ME, result(), now=0)
    kept = [uri for uri in "abc" if cache.find(key("resources/read", uri=uri), ME, now=1)]
    assert kept == ["a", "c"]


def test_the_size_of_results_is_bounded() -> None:
    """F-API-15: many large results, and one that is too large."""
    cache = ResponseCache(size=1000)
    for number in range(50):
        read = key("resources/read", uri=str(number))
        cache.keep(read, ME, result(text="x" * 150), now=0)
    assert 1 <= len(cache) <= 5
    cache.keep(key(), ME, result(text="x" * 300), now=0)
    assert cache.find(key(), ME, now=0) is None


EVERYTHING = [
    key("server/discover"),
    key("tools/list"),
    key("tools/list", cursor="2"),
    key("prompts/list"),
    key("resources/list"),
    key("resources/templates/list"),
    key("resources/read", uri="file:///a"),
    key("resources/read", uri="file:///a/b"),
    key("resources/read", uri="file:///ab"),
]


def full_cache() -> ResponseCache:
    cache = ResponseCache()
    for each in EVERYTHING:
        cache.keep(each, ME, result(), now=0)
    return cache


def gone_from(cache: ResponseCache) -> list[str]:
    gone = [each for each in EVERYTHING if cache.find(each, ME, now=0) is None]
    return [f"{each.method} {each.uri}".strip() for each in gone]


@each_row(
    ("method", "params", "gone"),
    [
        ("notifications/tools/list_changed", {}, ["tools/list", "tools/list"]),
        ("notifications/prompts/list_changed", {}, ["prompts/list"]),
        (
            "notifications/resources/list_changed",
            {},
            ["resources/list", "resources/templates/list"],
        ),
        (
            "notifications/resources/updated",
            {"uri": "file:///a/b"},
            ["resources/read file:///a", "resources/read file:///a/b"],
        ),
        ("notifications/resources/updated", {"uri": "file:///ab"}, ["resources/read file:///ab"]),
        (
            "notifications/resources/updated",
            {},
            ["resources/read file:///a", "resources/read file:///a/b", "resources/read file:///ab"],
        ),
        ("notifications/message", {}, []),
    ],
)
def test_what_a_notification_makes_stale(
    method: str, params: dict[str, Any], gone: list[str]
) -> None:
    """F-API-15: list changes drop all pages; an update drops the resource and what contains it."""
    cache = full_cache()
    cache.notified(method, params)
    assert gone_from(cache) == gone
    assert cache.invalidations == (1 if gone else 0)


@each_row(
    ("ttl", "seconds"),
    [(60_000, 60.0), (0.5, 0.0005), (-1, 0.0), ("60000", 0.0), (True, 0.0), (10**400, 86400.0)],
)
def test_how_long_a_result_is_fresh(ttl: object, seconds: float) -> None:
    """F-API-15: a negative or absurd time counts as none, an enormous one as a day."""
    assert lifetime_of({"ttlMs": ttl}) == seconds


def test_a_result_is_fresh_until_its_time_is_over() -> None:
    """F-API-15: and a later result takes its place, whoever it is for."""
    cache = ResponseCache()
    cache.keep(key(), ME, result(tools=[]), now=100.0)
    assert cache.find(key(), ME, now=159.9) == result(tools=[])
    cache.keep(key(), ME, result(scope="public", tools=[1]), now=100.0)
    assert cache.find(key(), ME, now=159.9) == result(scope="public", tools=[1])
    assert cache.find(key(), ME, now=160.0) is None
    assert len(cache) == 0


@each_row("scope", ["private", None, "shared", 1])
def test_only_public_is_public(scope: object) -> None:
    """F-API-15: an unknown scope is private, and private is not kept for an unknown context."""
    cache = ResponseCache()
    cache.keep(key(), None, result(scope=scope), now=0)
    assert len(cache) == 0


@pytest.mark.parametrize("field", ["inputResponses", "requestState"])
def test_the_retry_of_a_round_has_no_key(field: str) -> None:
    """F-API-15"""
    assert key_of("resources/read", {"uri": "a", field: {}}) is None


@each_row(
    ("method", "params", "code", "is_stale"),
    [
        ("tools/list", {"cursor": "2"}, -32602, True),
        ("tools/list", {}, -32602, False),
        ("tools/call", {"name": "x"}, -32601, True),
        ("tools/call", {"name": "x"}, -32603, False),
    ],
)
def test_an_error_that_makes_a_list_stale(
    method: str, params: dict[str, Any], code: int, is_stale: bool
) -> None:
    """F-API-15: an unknown cursor, and a tool that is not there any more."""
    cache = full_cache()
    cache.refused(method, params, PeerError(code, "no"))
    assert ("tools/list" in gone_from(cache)) is is_stale

"""Which results are kept, for whom, and until what happens: F-API-15."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import PeerError
from mcpclient.protocol.caching import MAX_LIFETIME, Key, ResponseCache, key_of, lifetime_of

ME, YOU = (("authorization", "Bearer me"),), (("authorization", "Bearer you"),)


def key(method: str = "tools/list", **params: Any) -> Key:
    found = key_of(method, params)
    assert found is not None
    return found


def result(ttl: object = 60_000, scope: object = "private", **fields: Any) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": ttl, "cacheScope": scope, **fields}


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        (60_000, 60.0),
        (1, 0.001),
        (0.5, 0.0005),
        (0, 0.0),
        (-1, 0.0),
        (None, 0.0),
        ("60000", 0.0),
        (True, 0.0),
        (float("nan"), 0.0),
        (10**400, MAX_LIFETIME),
        (float("inf"), MAX_LIFETIME),
    ],
)
def test_how_long_a_result_is_fresh(ttl: object, seconds: float) -> None:
    """F-API-15: a negative or absurd time counts as none, an enormous one as a day."""
    assert lifetime_of({"ttlMs": ttl}) == seconds


def test_an_interim_result_is_not_kept() -> None:
    """F-API-15: input_required results are not cacheable, whatever they claim."""
    assert lifetime_of({"resultType": "input_required", "ttlMs": 1000}) == 0


def test_only_six_requests_have_a_key() -> None:
    """F-API-15: calls, prompts and the rest always reach the server."""
    assert key_of("tools/call", {}) is None
    assert key_of("prompts/get", {"name": "x"}) is None
    assert key_of("resources/read", {"uri": "a"}) is not None


@pytest.mark.parametrize("field", ["inputResponses", "requestState"])
def test_the_retry_of_a_round_has_no_key(field: str) -> None:
    """F-API-15: results of multi-round-trip retries are never kept."""
    assert key_of("resources/read", {"uri": "a", field: {}}) is None


def test_params_make_the_key_and_tracing_does_not() -> None:
    """F-API-15: a request with other params is another request."""
    assert key("resources/read", uri="a") != key("resources/read", uri="b")
    assert key(cursor="1") != key() != key(_meta={"tenant": "x"})
    assert key(cursor="1", other="2") == key(other="2", cursor="1")
    traced = {"traceparent": "00-1", "tracestate": "x", "baggage": "y", "progressToken": 3}
    assert key(_meta={"tenant": "x", **traced}) == key(_meta={"tenant": "x"})
    assert key_of("tools/list", None) == key_of("tools/list", {})


def test_what_is_no_json_has_no_key() -> None:
    assert key_of("tools/list", {"cursor": object()}) is None
    loop: dict[str, Any] = {}
    loop["in"] = loop
    assert key_of("tools/list", loop) is None


def test_a_result_is_fresh_until_its_time_is_over() -> None:
    """F-API-15: now < received + ttl."""
    cache = ResponseCache()
    cache.keep(key(), ME, result(tools=[]), now=100.0)
    assert cache.find(key(), ME, now=159.9) == result(tools=[])
    assert cache.find(key(), ME, now=160.0) is None
    assert len(cache) == 0


def test_private_results_stay_within_their_context() -> None:
    """F-API-15: never across authorization contexts."""
    cache = ResponseCache()
    cache.keep(key(), ME, result(who="me"), now=0)
    assert cache.find(key(), YOU, now=1) is None
    assert cache.find(key(), (), now=1) is None
    assert cache.find(key(), None, now=1) is None
    cache.keep(key(), YOU, result(who="you"), now=0)
    assert cache.find(key(), ME, now=1) == result(who="me")


@pytest.mark.parametrize("scope", ["private", None, "shared", 1])
def test_only_public_is_public(scope: object) -> None:
    """F-API-15: an unknown scope is private, and private is not kept for an unknown context."""
    cache = ResponseCache()
    cache.keep(key(), None, result(scope=scope), now=0)
    assert len(cache) == 0
    cache.keep(key(), ME, result(scope=scope), now=0)
    assert cache.find(key(), YOU, now=0) is None


@pytest.mark.parametrize("asked", [ME, None])
def test_public_results_are_for_everyone(asked: object) -> None:
    """F-API-15: also where it is not known under which authorization one was asked for."""
    cache = ResponseCache()
    cache.keep(key(), asked, result(scope="public"), now=0)
    for context in (ME, YOU, None):
        assert cache.find(key(), context, now=1) is not None


def test_a_later_result_takes_the_place_of_an_earlier_one() -> None:
    cache = ResponseCache()
    cache.keep(key(), ME, result(scope="public", n=1), now=0)
    cache.keep(key(), ME, result(n=2), now=0)
    assert cache.find(key(), ME, now=1) == result(n=2)
    cache.keep(key(), ME, result(ttl=0), now=0)
    assert len(cache) == 0 and cache.find(key(), ME, now=1) is None


def test_nobody_can_change_what_another_gets() -> None:
    cache = ResponseCache()
    given = result(tools=[{"name": "a"}])
    cache.keep(key(), ME, given, now=0)
    given["tools"].clear()
    first = cache.find(key(), ME, now=1)
    assert first is not None
    first["tools"].clear()
    assert cache.find(key(), ME, now=1) == result(tools=[{"name": "a"}])


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


def test_what_cannot_be_written_down_is_not_kept() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"in": deep}
    cache = ResponseCache()
    cache.keep(key(), ME, result(deep=deep), now=0)
    cache.keep(key(), ME, result(of_another_type={1, 2}), now=0)
    assert len(cache) == 0
    while deep:  # taken apart here, for the interpreter would do it by recursion
        deep = deep["in"]


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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("method", "params", "code", "gone"),
    [
        ("tools/list", {"cursor": "2"}, -32602, ["tools/list", "tools/list"]),
        ("tools/list", {}, -32602, []),
        ("tools/list", None, -32602, []),
        ("tools/call", {"name": "x"}, -32601, ["tools/list", "tools/list"]),
        ("tools/call", {"name": "x"}, -32602, ["tools/list", "tools/list"]),
        ("tools/call", {"name": "x"}, -32603, []),
        ("prompts/get", {"name": "x"}, -32602, []),
    ],
)
def test_what_an_error_casts_doubt_on(
    method: str, params: dict[str, Any] | None, code: int, gone: list[str]
) -> None:
    """F-API-15: a cursor that is not known any more, a tool that is not there any more."""
    cache = full_cache()
    cache.refused(method, params, PeerError(code, "no"))
    assert gone_from(cache) == gone


def test_everything_can_be_dropped() -> None:
    cache = full_cache()
    cache.clear()
    assert len(cache) == 0
    cache.keep(key(), ME, result(), now=0)
    assert len(cache) == 1

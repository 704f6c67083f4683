from __future__ import annotations

import json

from mcpclient.net.login.needs_auth import NEEDS_AUTH_SECONDS, NeedsAuthCache


def test_a_server_is_remembered_for_a_quarter_of_an_hour() -> None:
    """F-AUTH-11: 15 minutes, then it may be asked again."""
    cache = NeedsAuthCache()
    cache.mark("a", 1000.0)
    assert NEEDS_AUTH_SECONDS == 900
    assert cache.needs_auth("a", 1000.0)
    assert cache.needs_auth("a", 1899.0)
    assert not cache.needs_auth("a", 1900.0)
    assert not cache.needs_auth("b", 1000.0)
    assert not cache.needs_auth("a", 999.0), "the clock was set back"


def test_success_clears_it() -> None:
    """F-AUTH-11: also when nothing was known."""
    cache = NeedsAuthCache()
    cache.mark("a", 0.0)
    cache.clear("a")
    cache.clear("a")
    assert not cache.needs_auth("a", 0.0)


def test_it_is_stored_and_does_not_grow() -> None:
    """F-AUTH-11: old entries go when new ones come; a damaged record is read as far as possible."""
    cache = NeedsAuthCache()
    cache.mark("old", 0.0)
    cache.mark("new", 1000.0)
    record = json.loads(json.dumps(cache.to_record()))
    assert record == {"new": 1000.0}
    damaged = {**record, "x": "soon", "y": None, "z": True, "huge": 10**400}
    assert NeedsAuthCache.from_record(damaged) == cache
    assert NeedsAuthCache.from_record(None) == NeedsAuthCache()

"""The clocks of this machine."""

from __future__ import annotations

import datetime

from mcpclient.net.clocks import seconds_since_epoch, timestamp


def test_a_timestamp_is_the_time_of_day_in_utc() -> None:
    """F-API-13: a task of the client's says since when it is."""
    before = int(seconds_since_epoch())
    text = timestamp()
    said = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    seconds = said.replace(tzinfo=datetime.timezone.utc).timestamp()
    assert before <= seconds <= seconds_since_epoch()

"""Server-sent events: the same in any chunking, with and without a limit that is met."""

from __future__ import annotations

from functools import partial

from mcpclient.framing.sse import MAX_RETRY, Event, EventDecoder, OversizedEvent

from ..inputs import same_however_cut

LIMITS = (5, 100_000)


def target(data: bytes) -> None:
    for limit in LIMITS:
        events, _, retry = same_however_cut(data, partial(read, limit=limit))
        assert retry is None or 0 <= retry <= MAX_RETRY
        for event in events:
            if not isinstance(event, OversizedEvent):
                assert event.event and "\n" not in event.event + event.id
                # Each byte that is no UTF-8 becomes a character of three bytes.
                assert len(event.data.encode()) <= 3 * limit


def read(chunks: list[bytes], limit: int) -> tuple[list[Event], str, int | None]:
    decoder = EventDecoder(limit)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events, decoder.last_event_id, decoder.retry

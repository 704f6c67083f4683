"""Latencies, counted in buckets: what they take of memory does not grow with the calls."""

from __future__ import annotations

import math

_SMALLEST = 1e-5
_PER_DECADE = 50
_BUCKETS = 7 * _PER_DECADE


class Latencies:
    """Durations in seconds; quantiles are exact to 5 %."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS

    def add(self, seconds: float) -> None:
        """Count one duration."""
        bucket = int(math.log10(max(seconds / _SMALLEST, 1.0)) * _PER_DECADE)
        self._counts[min(bucket, _BUCKETS - 1)] += 1

    def quantile(self, share: float) -> float:
        """Return the duration that ``share`` of all do not exceed; 0 without any."""
        left = share * sum(self._counts)
        for bucket, count in enumerate(self._counts):
            left -= count
            if left <= 0 and count:
                return float(_SMALLEST * 10 ** ((bucket + 1) / _PER_DECADE))
        return 0.0

"""The limit on each token's requests per second, enforced by a token bucket.

A full bucket holds the requests of two seconds, so that a burst may have twice as many.
"""

import math
from collections.abc import Callable

MOST_BUCKETS = 1_024
"""The number of buckets above which full ones are dropped. A full bucket equals a new one."""


class RateLimit:
    """A limit of `rate` requests per second for each key, with bursts of `2 * rate` requests.
    `clock` returns monotonic seconds.
    """

    def __init__(self, rate: int, clock: Callable[[], float]) -> None:
        self.rate = rate
        self._burst = 2.0 * rate
        self._clock = clock
        # by key: the level of the bucket, and the time at which it had this level
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, key: bytes) -> int:
        """Count a request and return 0. At the limit, return the seconds to wait (rounded up)."""
        now = self._clock()
        level = self._level(self._buckets.get(key), now)
        if level < 1:
            return math.ceil((1 - level) / self.rate)
        self._buckets[key] = (level - 1, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets = {
                key: bucket for key, bucket in self._buckets.items() if self._level(bucket, now) < self._burst
            }
        return 0

    def _level(self, bucket: tuple[float, float] | None, now: float) -> float:
        return self._burst if bucket is None else min(self._burst, bucket[0] + (now - bucket[1]) * self.rate)

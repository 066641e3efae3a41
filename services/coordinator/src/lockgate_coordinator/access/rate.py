"""The limit on each token's requests per second, by token buckets that hold two seconds' worth."""

import math
from collections.abc import Callable

MOST_BUCKETS = 1_024
"""The number of buckets above which full ones, which equal new ones, are dropped."""


class RateLimit:
    """A limit of `rate` requests per second for each key, with bursts of `2 * rate`."""

    def __init__(self, rate: int, clock: Callable[[], float]) -> None:
        self.rate = rate
        self._burst = 2.0 * rate
        self._clock = clock
        # the level of each, and when it was taken
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, key: bytes) -> int:
        """Take one request of this key, and return 0. If it is over the limit, take nothing, and
        return how many seconds to wait, rounded up.
        """
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

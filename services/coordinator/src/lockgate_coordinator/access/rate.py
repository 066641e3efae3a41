"""The rate of requests: a token bucket for each key, which holds two seconds' worth of requests."""

import math
from collections.abc import Callable

MOST_BUCKETS = 1_024
"""Above this number full buckets are dropped. A bucket is full after two seconds of silence, and
then the same as a new one.
"""


class RateLimit:
    """A limit of `rate` requests a second for each key, with bursts of `2 * rate`. `clock` gives
    monotonic seconds.
    """

    def __init__(self, rate: int, clock: Callable[[], float]) -> None:
        self.rate = rate
        self._burst = 2.0 * rate
        self._clock = clock
        # the level of each, and when it was taken
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, key: bytes) -> int:
        """Return 0 if a request with this key is allowed now. Otherwise return how many seconds to
        wait, rounded up.
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

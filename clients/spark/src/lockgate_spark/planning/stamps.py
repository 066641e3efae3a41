"""Searches for the oldest Kafka timestamp among the first unread records of a source's splits. The
module `retention` needs this timestamp if event time is in the payload.

Reading the records would cost a read for each split. Kafka's look-up by time takes one request for
all splits. It returns the first record of each split with at least the given timestamp, so all
earlier records have lower ones. The oldest timestamp is found by bisection, and is never later than
the real one.
"""

from collections.abc import Mapping

from lockgate_spark.logs.requests import KafkaRequests, Offsets

LOOK_UPS = 3  # in each call
_FINE_MS = 60_000  # a minute is as exact as anybody needs
_COARSE = 100  # the result is returned once it is exact to this part of the time searched


class OldestStamp:
    """Searches for Kafka's oldest timestamp among the first unread records of a source's splits."""

    def __init__(self) -> None:
        self._low = 0  # no record of `_heads` is stamped before it, as far as that matters
        self._high: int | None = None  # one of them is
        self._holder = ""  # its split
        self._heads: Mapping[str, int] = {}

    def look(self, requests: KafkaRequests, heads: Offsets, since: int, now: int) -> tuple[int, str] | None:
        """Continue the search with at most `LOOK_UPS` requests, at `now` (wall clock in ms). Return
        the oldest timestamp (ms) and its split; None until it is known well enough. `heads` has the
        first unread offset of each split. Timestamps before `since` (ms) count as `since`.
        """
        self._meet(heads, since)
        for _ in range(LOOK_UPS):
            upper = now if self._high is None else self._high
            if upper - self._low <= _FINE_MS:
                break
            middle = (self._low + upper) // 2
            first = requests.first_at(middle)
            before = [split for split, offset in heads.items() if split not in first or first[split].offset > offset]
            if before:
                self._high, self._holder = middle, min(before)
            else:
                self._low = middle
        if not heads or self._high is None or self._high - self._low > max(_FINE_MS, (now - since) // _COARSE):
            return None
        return self._low, self._holder

    def _meet(self, heads: Offsets, since: int) -> None:
        """Adjust the bounds of the search to the new first unread records, `heads`. Later records
        of a split are assumed to have the same or later timestamps, so the lower bound still holds
        unless a split is new or was set back. The upper bound holds while its record is unread.
        """
        if any(offset < self._heads.get(split, offset + 1) for split, offset in heads.items()):
            self._low = 0
        if self._high is not None and heads.get(self._holder) != self._heads.get(self._holder):
            self._high = None
        self._heads = dict(heads)
        self._low = max(self._low, since)
        if self._high is not None and self._high <= self._low:
            self._high = self._low + 1  # it is due by now

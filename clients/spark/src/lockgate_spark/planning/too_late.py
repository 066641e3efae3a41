"""Counts records that came too late: their producer was further behind the clock than the plans had
allowed for, and Spark's watermark had passed them. The first of them in a split shows the lag, and
those behind it are late until the producer has caught up with Spark's watermark.

Spark's watermark outlives a run. Late records that came between two runs, or within the stored lag,
show none. So the first record that a run finds in a partition is compared with Spark's watermark
itself. Records that the previous run has counted are not counted again.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.duration import spoken
from lockgate.plan.model import Head
from lockgate_spark.logs.unread import Key, Unread, named

log = logging.getLogger("lockgate")


@dataclass(slots=True)
class _Late:
    lag: int  # the largest one, ms
    waited: int | None  # the largest lag that plans had allowed for; None if an earlier run made them
    upto: int = 0  # the offset up to which late records were counted
    count: int = 0
    logged: int = 0  # the count in the last warning
    ended: bool = False  # whether the split has caught up with Spark's watermark


class TooLate:
    """Counts the late records of one run, and logs warnings about them. No other split waits for a
    producer that is more than `far` (ms) behind.
    """

    def __init__(self, far: int) -> None:
        self._far = far
        self._splits: dict[Key, _Late] = {}

    @property
    def total(self) -> int:
        """The number of late records so far."""
        return sum(late.count for late in self._splits.values())

    def came(self, key: Key, lag: int, waited: int | None, upto: int = 0) -> None:
        """Have `look` count the late records of `key`. One came `lag` (ms) behind the clock, but
        plans had allowed only for `waited` (ms; None if those of an earlier run had, which has
        counted the records up to the offset `upto`).
        """
        late = self._splits.setdefault(key, _Late(lag, waited, upto))
        if late.ended:
            late.waited = waited
        late.lag, late.ended = max(lag, late.lag), False

    def look(self, unread: Unread, spark_watermark: int) -> None:
        """Count the late records up to `spark_watermark` (ms). Warn if a split's count doubles."""
        heads, late = unread.heads(), {key: late for key, late in self._splits.items() if not late.ended}
        for key in [key for key in late if key in heads and heads[key].event_time > spark_watermark]:
            late.pop(key).ended = True
        open_ = {key: at for key, *at in unread.splits() if key in late and key in heads and late[key].upto < at[1]}
        if not open_:
            return
        above: Mapping[Key, Head] = unread.first_after(spark_watermark)
        for key, (position, end) in open_.items():
            upto = above[key].offset if key in above else end
            late[key].count += max(0, upto - max(position, late[key].upto))
            late[key].upto = max(upto, late[key].upto)
            if late[key].count >= max(1, 2 * late[key].logged):
                self._warn(key, late[key])

    def sum_up(self) -> None:
        """Log the late records of each split that were counted since its last warning."""
        for key, late in self._splits.items():
            if late.count > late.logged:
                self._warn(key, late)

    def _warn(self, key: Key, late: _Late) -> None:
        late.logged = late.count
        log.warning(
            "%s: %s records so far arrived up to %s behind the clock, but %s. They are at or below Spark's watermark, "
            "and a stateful operator drops them. %s",
            named(key, self._splits),
            f"{late.count:,}",
            spoken(late.lag),
            "an earlier run had waited less"
            if late.waited is None
            else f"the query had waited only {spoken(late.waited)}",
            "The other partitions do not wait for a producer this far behind"
            if late.lag > self._far
            else "From now on the other partitions wait for this one",
        )

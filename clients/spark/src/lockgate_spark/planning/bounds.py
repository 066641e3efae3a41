"""Computes the bounds that the plans of one query assume: `max_drift`, `idle_timeout` and
`disorder` (the out-of-orderness), all in ms. They follow from the user's settings, the watermark
delay, the group's drift, and measurements.

No row is late if `max_drift ≤ delay` (`lockgate.plan.model`), or `max_drift + disorder ≤ delay` if
event time is in the payload, because a batch may then contain records up to `disorder` later than
its target (`logs.crossing`). `docs/guide/uneven-partitions.md` has the `disorder` that plans assume
if the user has set none.
"""

from dataclasses import replace
from functools import cached_property

from lockgate import watermark
from lockgate.plan.model import Backlog, Bounds
from lockgate_spark.config import Alignment, bounds_of
from lockgate_spark.logs.unread import Key, Unread
from lockgate_spark.planning.steps import Query
from lockgate_spark.spark_run import Checkpointed

ENOUGH = 50
_SAMPLE_S = 1.0  # the least time between two looks at how far records are out of order


def most_learned(max_drift: int) -> int:
    """Return the largest out-of-orderness (ms) that plans allow for by themselves."""
    return max_drift // 2


def delay_of(run: Checkpointed) -> int | None:
    """Return the delay (ms) of Spark's watermark on the aligned sources; None without one. Of
    several watermarks, Spark uses the lowest, so the longest delay counts, or the highest.
    """
    delays = [each.delay_ms for each in run.watermarks() if each.aligned]
    return min(delays, default=None) if run.takes_highest() else max(delays, default=None)


def own_bounds(
    alignment: Alignment, delay: int | None, seen: int = 0, *, in_payload: bool = False, group_drift: int | None = None
) -> Bounds:
    """Return the bounds of the query's plans. `delay` is the watermark delay, which shortens the
    default `max_drift`; `seen` is the measured out-of-orderness; `group_drift` replaces the user's
    drift (all in ms). `in_payload` says whether the event time of a source is in the payload.
    """
    set_by_user = bounds_of(alignment)
    drift, disorder = set_by_user.max_drift if group_drift is None else group_drift, set_by_user.disorder
    room = delay if alignment.max_drift is None and alignment.coordinator is None else None
    if room is not None and disorder < room < drift:
        drift = room
    if alignment.max_out_of_orderness is None:
        # In the payload the drift gives way to the disorder, which is at most half of what is left.
        disorder = min(seen, most_learned(drift), seen if room is None or not in_payload else room // 3)
    if room is not None and in_payload and disorder < room - disorder < drift:
        drift = room - disorder
    return replace(set_by_user, max_drift=drift, disorder=disorder)


class QueryBounds:
    """Computes the bounds that the plans of one run assume, all in ms. Spark must have planned the
    query before its first use.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._seen = 0
        self._sampled_at: float | None = None

    def measure(self, unread: Unread, now: float) -> None:
        """Measure the out-of-orderness of a few unread records, at most once a second, and use the
        largest one found so far in any split.
        """
        if self._sampled_at is None or not 0 <= now - self._sampled_at < _SAMPLE_S:
            self._sampled_at = now
            for i, source in self._query.sources.items():
                source.log.sample(unread.positions[i], unread.ends[i])
        logs = (source.log for source in self._query.sources.values())
        self._seen = max((learned.points.disorder for log in logs for learned in log.learned.values()), default=0)

    def careful(self, backlogs: dict[Key, Backlog]) -> dict[Key, Backlog]:
        """Return `backlogs` with the largest `disorder` that plans allow for in each split of which
        fewer than `ENOUGH` records were compared, unless the user has set `max_out_of_orderness`.
        """
        if self.are_promised:
            return backlogs
        most = most_learned(self.now().max_drift)
        compared = {key: self._query.sources[key[0]].log.learned[key[1]].points.compared for key in backlogs}
        return {key: replace(each, disorder=most) if compared[key] < ENOUGH else each for key, each in backlogs.items()}

    def now(self, *, in_order: bool = False) -> Bounds:
        """Return the present bounds; with `in_order`, without the measured out-of-orderness."""
        drift = None if self._query.membership is None else self._query.membership.max_drift
        seen = 0 if in_order else self._seen
        return own_bounds(self._query.alignment, self.delay, seen, in_payload=self.in_payload, group_drift=drift)

    @property
    def most_disorder(self) -> int:
        """The largest out-of-orderness (ms) that plans allow for."""
        bounds = self.now()
        return bounds.disorder if self.are_promised else most_learned(bounds.max_drift)

    @property
    def are_promised(self) -> bool:
        """Whether the user has set `max_out_of_orderness`."""
        return self._query.alignment.max_out_of_orderness is not None

    @cached_property
    def delay(self) -> int | None:
        """The delay (ms) as in `delay_of`."""
        return delay_of(self._query.run)

    def spark_watermark(self, read_upto: int) -> int:
        """Return Spark's watermark (ms) after all records up to the event time `read_upto` (ms)
        were read, or that in the checkpoint if it is higher. It is MIN if the query has no
        watermark.
        """
        by_run = watermark.MIN if self.delay is None else watermark.add(read_upto, -self.delay)
        return by_run if self._stored_watermark is None else max(by_run, self._stored_watermark)

    @cached_property
    def _stored_watermark(self) -> int | None:
        """Spark's watermark (ms) in the checkpoint when this run began; None in observe mode."""
        return None if self._query.observes else self._query.run.logged_watermark()

    @property
    def in_payload(self) -> bool:
        """Whether the event time of a source is in the payload."""
        return any(source.event_time is not None for source in self._query.sources.values())

"""The checks at the start of a query: for rows that are lost already, for a watermark delay that is
too short, and for a watermark on another event time than the aligned one. `bounds` says which delay
is needed.
"""

import logging
from collections.abc import Iterable

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.model import Bounds
from lockgate_http.duration import as_option
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.logs.unread import Unread
from lockgate_spark.planning.bounds import delay_of, needed_delay
from lockgate_spark.planning.origins import check_origins
from lockgate_spark.query_watermark import KAFKAS, POLICY, Checkpointed, QueryWatermark

log = logging.getLogger("lockgate")


class DelayCheck:
    """Warns if the watermark delay of a run is too short for its plans. It warns again if the delay
    that is needed has doubled.
    """

    def __init__(self) -> None:
        self._logged = 0

    def warn(self, delay: int | None, bounds: Bounds, in_payload: bool) -> None:
        """Warn if the delay is shorter than needed. `delay` is in ms, None without a watermark.
        `in_payload` says whether the event time of a source is in the payload.
        """
        needed = needed_delay(bounds, in_payload)
        if delay is not None and delay < needed and needed >= 2 * self._logged:
            self._logged = needed
            log.warning("%s", _too_short(delay, bounds, in_payload))


def warn_at_start(run: Checkpointed, unread: Unread, bounds: Bounds) -> None:
    """Log a warning if the checkpoint's watermark has already passed unread rows. If a query has
    several watermarks, all its streams are aligned, and each delay is at least `max_drift`, log
    that `multipleWatermarkPolicy=max` would lose no rows.
    """
    stored = run.logged_watermark()
    lost = 0 if stored is None else rows_below(unread, stored)
    if stored is not None and lost:
        log.warning(
            "the checkpoint's watermark is already %s: %s unread offsets are at or below it, and Spark will drop "
            "the late rows among them. Alignment cannot undo that; start with a new checkpoint to read them",
            watermark.instant(stored),
            f"{lost:,}",
        )
    delay = delay_of(run)
    if delay is not None and delay >= bounds.max_drift:
        _offer_highest(run, bounds)


def _too_short(delay: int, bounds: Bounds, in_payload: bool) -> str:
    beside = bounds.disorder if in_payload else 0
    out_of_order = f", in addition to an out-of-orderness of {spoken(beside)} in the payload" if beside else ""
    least = as_option(needed_delay(bounds, in_payload))
    finding = (
        f"the query's watermark delay is {spoken(delay)}, and max_drift is {spoken(bounds.max_drift)}{out_of_order}: "
        f'rows can be late and dropped. Make the delay at least "{least}"'
    )
    if delay - beside > bounds.disorder:
        return f'{finding}, or max_drift at most "{as_option(delay - beside)}"'
    return f"{finding}; max_drift must stay above max_out_of_orderness ({spoken(bounds.disorder)})"


def _offer_highest(run: Checkpointed, bounds: Bounds) -> None:
    delays = [each.delay_ms for each in run.watermarks()]
    everywhere = all(origin.aligned for each in run.watermarks() for origin in each.origins)
    if len(delays) > 1 and everywhere and not run.takes_highest() and min(delays) >= bounds.max_drift:
        log.info(
            "the query has %d watermarks and Spark uses the lowest, so one silent source stalls all results. The "
            "sources are aligned together, so %s=max loses no rows and does not stall. Set it with a new checkpoint",
            len(delays),
            POLICY,
        )


def check_event_time(run: Checkpointed, payloads: Iterable[bool], alignment: Alignment) -> None:
    """Check that the query's watermarks use the aligned event time. `payloads` says of each source
    whether its event time is in the payload.

    Raises `UnsupportedQuery` if a watermark uses another event time than the alignment, or is
    shared with a Kafka stream that is not aligned (`check_origins`). In observe mode and with
    `other_event_time="warn"`, a warning is logged instead.
    """
    kinds = set(payloads)
    for each in run.watermarks():
        for origin in each.origins:
            if origin.aligned and (origin.column != KAFKAS) not in kinds:
                _other_event_time(each, origin.text, alignment)
    check_origins(run.watermarks(), run.takes_highest(), alignment)


def _other_event_time(found: QueryWatermark, text: str, alignment: Alignment) -> None:
    aligned = "Alignment(event_time)" if text == KAFKAS else "Kafka's record timestamp"
    finding = (
        f'withWatermark("{found.column}", …) uses {text}, but lockgate aligns by {aligned}: rows can be late and '
        "dropped"
    )
    if alignment.mode == "observe" or alignment.other_event_time == "warn":
        log.warning("%s", finding)
        return
    what = (
        "leave event_time out"
        if text == KAFKAS
        else "set Alignment(event_time=…) to that expression over Kafka's columns"
    )
    raise UnsupportedQuery(
        f"{finding}. Put the watermark on what is aligned, or {what}. "
        'Alignment(other_event_time="warn") lets the query run as it is'
    )


def rows_below(unread: Unread, event_time: int) -> int:
    """Return the number of unread offsets before each split's first record above `event_time` (ms),
    summed over all splits.
    """
    unread.heads()
    above = unread.first_after(event_time)
    return sum((above[key].offset if key in above else end) - position for key, position, end in unread.splits())

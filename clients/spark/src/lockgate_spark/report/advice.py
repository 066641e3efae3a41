"""How many rows alignment would have kept, and the options to set for that, each with its reason.

**Kept.** No row is late while `max_drift` is at most the delay of the query's watermark. So with
alignment, the query would keep the rows that this run has lost, with three exceptions: records that
are further out of order within their own split than the delay, records whose producer was later
than it had ever been before, and records stamped in the future, which move Spark's watermark in any
case.
"""

from dataclasses import dataclass

from lockgate.duration import spoken
from lockgate_http.duration import as_option
from lockgate_spark.report.findings import Findings

_BATCH_S = 60.0  # a batch of about a minute


@dataclass(frozen=True, slots=True)
class Kept:
    """Bounds on how many of the lost rows alignment would have kept, as far as they are known."""

    least: int | None
    most: int | None
    why: str = ""  # it might not have kept them all


@dataclass(frozen=True, slots=True)
class Advice:
    """An option to set, and the reason."""

    option: str
    value: str | None  # None: no value is advised
    why: str


def kept(found: Findings) -> Kept:
    """Return how many lost rows a `max_drift` up to the watermark's delay would have kept."""
    loss, delay = found.loss, found.delay_ms
    if loss.most == 0:
        return Kept(0, 0)
    if not found.seen:
        return Kept(None, None, "the watermark uses another event time than the aligned one")
    if found.left_out:
        stamped = f"at least {found.left_out:,} records have a time stamp outside the bounds"
        return Kept(None, loss.most, f"{stamped}, which moves Spark's watermark")
    if delay is not None and found.out_of_orderness_ms > delay:
        apart = f"records within one partition are out of order by {spoken(found.out_of_orderness_ms)}"
        return Kept(None, loss.most, f"{apart}, which is more than the watermark's delay of {spoken(delay)}")
    if found.too_late:
        least = max(0, loss.least - found.too_late)
        return Kept(least, loss.most, f"{found.too_late:,} records came later than their producer was waited for")
    return Kept(loss.least, loss.most)


def advice(found: Findings) -> tuple[Advice, ...]:
    """Return the advised options, the most important one first. If rows were lost, the last one may
    be `withWatermark`, with the delay that would be needed without alignment.
    """
    given = [_max_drift(found), *(_budget(found, source) for source in range(len(found.sources)))]
    delay = found.delay_ms
    if found.loss.most != 0 and found.lateness_ms and delay is not None:
        given.append(
            Advice(
                "withWatermark",
                as_option(-(-(delay + found.lateness_ms + 1) // 60_000) * 60_000),  # rounded up to minutes
                "without alignment the delay would have to be this long for the same batches. Results would come "
                "that much later, and Spark would keep the state for as long",
            )
        )
    return tuple(given)


def _max_drift(found: Findings) -> Advice:
    delay = found.delay_ms
    if delay is None:
        return Advice("max_drift", None, "the query has no withWatermark, so Spark drops no row for being late")
    if found.out_of_orderness_ms >= delay:
        return Advice(
            "max_drift",
            None,
            f"first make the delay longer than {spoken(found.out_of_orderness_ms)}, by which records within one "
            "partition are out of order",
        )
    why = f"no row is late while max_drift is at most the watermark's delay, {spoken(delay)}"
    if 0 < found.max_drift_ms <= delay:
        return Advice("max_drift", as_option(found.max_drift_ms), f"{why}; this run has planned with this value")
    planned = f"; this run has planned with {spoken(found.max_drift_ms)}" if found.max_drift_ms else ""
    return Advice("max_drift", as_option(delay), f"{why}{planned}")


def _budget(found: Findings, index: int) -> Advice:
    source = found.sources[index]
    option = "maxOffsetsPerTrigger" if len(found.sources) == 1 else f"maxOffsetsPerTrigger of source {source.source}"
    if source.max_offsets_per_trigger is not None:
        return Advice(
            option,
            str(source.max_offsets_per_trigger),
            "as it is: alignment reads the same number of offsets in a batch, in the order of their event time",
        )
    return Advice(
        option,
        str(_rounded(source.offsets * _BATCH_S / max(1.0, found.busy_s))),
        f"none is set, and the largest batch had {source.largest_batch:,} offsets. With this number a backlog is read "
        "in batches of about a minute, at the speed of this run; then a failure repeats a minute of work",
    )


def _rounded(number: float) -> int:
    """Return the number with one significant digit, but at least 1,000."""
    return max(1_000, int(float(f"{number:.0e}")))

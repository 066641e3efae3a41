"""Checks a query at its start: whether `event_time` is null for every record (`EventTimeCheck`),
whether rows are lost already, whether the watermark delay is too short, whether a watermark uses
another event time than the aligned one, and whether streams under a watermark are not aligned
(`docs/guide/joins.md`). An unaligned stream under a watermark of its own
makes aligned rows late only with `multipleWatermarkPolicy=max`.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.model import Bounds
from lockgate_http.duration import as_option
from lockgate_http.errors import ConfigurationError
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.event_times import KAFKAS, POLICY, QueryWatermark, Unaligned
from lockgate_spark.logs.topics import topic_of
from lockgate_spark.logs.unread import Source, Unread
from lockgate_spark.spark_run import Checkpointed

log = logging.getLogger("lockgate")

LOOKED = 100  # records at the end of each split
MOST_SPLITS = 64  # those with unread records come first
_MOST_NAMES = 20


class DelayCheck:
    """Warns if the watermark delay of a run is too short for its plans, and again if the delay that
    they need has doubled since.
    """

    _logged = 0  # the delay that the last warning asked for

    def warn(self, delay: int | None, bounds: Bounds, in_payload: bool) -> None:
        """Warn if the delay (ms, None without a watermark) is shorter than `bounds` needs."""
        beside = bounds.disorder if in_payload else 0
        needed = bounds.max_drift + beside
        if delay is None or delay >= needed or needed < 2 * self._logged:
            return
        self._logged = needed
        log.warning(
            "the query's watermark delay is %s, and max_drift is %s%s: rows can be late and dropped. Make the delay at "
            'least "%s"%s',
            spoken(delay),
            spoken(bounds.max_drift),
            f", in addition to an out-of-orderness of {spoken(beside)} in the payload" if beside else "",
            as_option(needed),
            f', or max_drift at most "{as_option(delay - beside)}"'
            if delay - beside > bounds.disorder
            else f"; max_drift must stay above max_out_of_orderness ({spoken(bounds.disorder)})",
        )


def warn_at_start(run: Checkpointed, unread: Unread, bounds: Bounds) -> None:
    """Log a warning if the checkpoint's watermark has already passed unread rows, and a hint if
    `multipleWatermarkPolicy=max` would lose no rows of the query.
    """
    if (stored := run.logged_watermark()) is not None:
        above = unread.first_after(stored)
        lost = sum((above[key].offset if key in above else end) - position for key, position, end in unread.splits())
        if lost:
            log.warning(
                "the checkpoint's watermark is already %s: %s unread offsets are at or below it, and Spark will drop "
                "the late rows among them. Alignment cannot undo that; start with a new checkpoint to read them",
                watermark.instant(stored),
                f"{lost:,}",
            )
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
    """Raise `UnsupportedQuery` if a watermark uses a different event time from the alignment, or as
    `check_origins` does. In observe mode and with `other_event_time="warn"`, log a warning instead.
    `payloads` says of each source whether its event time is in the payload.
    """
    kinds = set(payloads)
    for each in run.watermarks():
        for origin in each.origins:
            if origin.aligned and (origin.column != KAFKAS) not in kinds:
                aligned, what = "Alignment(event_time)", "leave event_time out"
                if origin.text != KAFKAS:
                    aligned = "Kafka's record timestamp"
                    what = "set Alignment(event_time=…) to that expression over Kafka's columns"
                _refuse(
                    f'withWatermark("{each.column}", …) uses {origin.text}, but lockgate aligns by {aligned}: rows can '
                    f"be late and dropped. Put the watermark on what is aligned, or {what}",
                    alignment,
                )
    check_origins(run.watermarks(), run.takes_highest(), alignment)


def check_origins(watermarks: Sequence[QueryWatermark], highest: bool, alignment: Alignment) -> None:
    """Raise `UnsupportedQuery`, as `check_event_time` does, if an unaligned Kafka source shares a
    watermark with an aligned one. For other unaligned streams, there is at most a log line.
    `highest` says whether Spark uses the highest watermark.
    """
    beside = any(each.aligned for each in watermarks)
    for each in watermarks:
        for stream in each.unaligned:
            if each.aligned:
                _under_one(each, stream, alignment)
            elif beside and highest:
                log.warning(
                    "%s is not aligned, and Spark uses the highest watermark (%s=max): "
                    'withWatermark("%s", …) on it can make rows of the aligned streams late. %s',
                    stream.text,
                    POLICY,
                    each.column,
                    f"Leave {POLICY} out, with a new checkpoint" if stream.reader is None else _aligned(stream),
                )
            elif beside and stream.reader is not None:
                log.info(
                    "%s is not aligned, so its own rows can be late, as in plain Spark. %s",
                    stream.text,
                    _aligned(stream),
                )


def _under_one(found: QueryWatermark, stream: Unaligned, alignment: Alignment) -> None:
    finding = (
        f'withWatermark("{found.column}", …) is over aligned streams and over one that is not: {stream.text}. '
        "Spark's watermark follows the stream that is ahead, so rows of all of them can be late and dropped."
    )
    if stream.reader is None:
        log.warning(
            "%s Give each its own withWatermark before they are combined: Spark then uses the lowest watermark", finding
        )
    else:
        _refuse(f"{finding} {_aligned(stream)}", alignment)


def _refuse(text: str, alignment: Alignment) -> None:
    if alignment.mode != "observe" and alignment.other_event_time != "warn":
        raise UnsupportedQuery(f'{text}. Alignment(other_event_time="warn") lets the query run as it is')
    log.warning("%s", text)


def _aligned(stream: Unaligned) -> str:
    return f"Align it with the options of the others: lockgate_spark.align({stream.reader})"


class EventTimeCheck:
    """Ends a query whose `event_time` is null for every inspected record, because a field is
    misspelt or the topic contains something else (`docs/guide/event-time.md`): the unread records,
    and the last `LOOKED` ones of up to `MOST_SPLITS` splits, if some of these have a value.
    """

    def __init__(self) -> None:
        self._shown: set[int] = set()  # the sources with an event time
        self._looked: dict[int, Mapping[str, int]] = {}  # the ends at the last look

    def check(self, unread: Unread) -> None:
        """Inspect the sources in which no event time was found yet. Raises `ConfigurationError` if
        `event_time` is null for every inspected record although some have a value.
        """
        for i, source in unread.sources.items():
            if i in self._shown:
                continue
            positions, ends = unread.positions[i], unread.ends[i]
            if source.event_time is None or source.log.heads(positions, ends):
                self._shown.add(i)
            elif self._looked.get(i) != ends and any(positions[split] < end for split, end in ends.items()):
                self._looked[i] = ends
                # a restart may find the splits with event times read to their ends
                order = sorted(ends, key=lambda split: (positions[split] >= ends[split], split))
                self._look(i, source, ends, order[:MOST_SPLITS])

    def _look(self, i: int, source: Source, ends: Mapping[str, int], splits: Sequence[str]) -> None:
        begins = source.log.requests.begins()
        seen = source.sampled(
            {split: (max(begins.get(split, 0), ends[split] - LOOKED), ends[split]) for split in splits}
        )
        if seen.timed:
            self._shown.add(i)
        elif seen.valued:
            topics = ", ".join(sorted({topic_of(split) for split in splits}))
            text = str(getattr(source.event_time, "text", source.event_time))
            raise ConfigurationError(
                f"Alignment(event_time={text!r}): it gives no time for any of the {seen.looked} records looked at in "
                f"{topics}; {_described(seen.value)}. Correct the expression, or leave event_time out to align by "
                "Kafka's timestamp"
            )


def _described(value: str) -> str:
    """Describe a value by the names of its fields, because its content may be secret."""
    if value == "?":
        return "their values are not text (Avro or Protobuf?)"
    try:
        found = json.loads(value)
    except ValueError:
        return "their values are text, but not JSON"
    if not isinstance(found, dict) or not found:
        return "their values are JSON without fields"
    names = list[str]()
    for name, field in found.items():
        names += [f"{name}.{inner}" for inner in field] if isinstance(field, dict) and field else [name]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"a value there has the fields {', '.join(names[:_MOST_NAMES])}{more}"

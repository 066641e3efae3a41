"""Measures how far each split's producer is behind the clock (its lag), and derives the bounds that
plans assume. A producer *shows* a lag if one of its records proves it
(`lockgate.plan.producer_lag`). If the user sets `idle_timeout`, it is a promise for all splits, and
measured lags are only compared with it.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.far_behind import FAR_MS, far_behind
from lockgate.plan.model import Backlog, Bounds, Head, Limit
from lockgate.plan.producer_lag import GRACE_MS, MARGIN, REMEMBERED_MS, ProducerLag, Shown
from lockgate.watermark import MAX, MIN
from lockgate_http.duration import milliseconds
from lockgate_spark.config import Alignment, bounds_of
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.unread import Key, Source, Unread, named
from lockgate_spark.planning.ahead import Ahead
from lockgate_spark.planning.driver_clock import DriverClock
from lockgate_spark.planning.kept_lags import KeptLags
from lockgate_spark.planning.startup_grace import UNKNOWN_MS, watches
from lockgate_spark.planning.too_late import TooLate

log = logging.getLogger("lockgate")

_AGAIN = 1.25  # a lag is logged again once it is larger by this factor


class Producers:
    """Measures the lags of the producers of one run's splits. `kept` has the lags of earlier runs;
    None if lags are not stored. In all methods, `now` is the wall-clock time in ms. `shown` maps
    splits to the largest lag (ms) that their producer has shown in this run.
    """

    def __init__(self, alignment: Alignment, clock: DriverClock, kept: KeptLags | None = None) -> None:
        self._idle_timeout = None if alignment.idle_timeout is None else bounds_of(alignment).idle_timeout
        self._at_least = bounds_of(alignment).idle_timeout if alignment.slice is not None else None
        self._limit = milliseconds("Alignment(max_lag)", alignment.max_lag)
        self._kept, self._clock = kept, clock
        self.ahead = Ahead(clock.ticks)
        # for splits whose producer has shown no lag: the end of the wait (s, monotonic clock)
        self._watched: dict[Key, float] = {}
        self._moved = 0  # by how much the clock was moved, as far as the lags have moved along
        self._lags: dict[Key, ProducerLag] = {}
        self.shown: dict[Key, int] = {}
        self._promised: dict[Key, int] = {}  # the bounds of the last plan, ms
        # of splits that have shown nothing: where the log ended first, and when
        self._first: dict[Key, tuple[int, int]] = {}
        self._logged: dict[Key, int] = {}
        self._open_since: dict[Key, int] = {}  # of transactions that were warned of
        self._cut_off: set[Key] = set()  # splits that went on behind a fixed end when it was fixed
        self._told_far: set[Key] = set()
        self._began: int | None = None
        self._far = max(FAR_MS, self._limit)
        self._too_late = TooLate(self._far)
        # of splits that an earlier run has seen: where the log ended then, and when; until this run
        # finds a record
        self._resumed: dict[Key, tuple[int, int]] = {}

    @property
    def too_late(self) -> int:
        """The number of late records in this run."""
        return self._too_late.total + self.ahead.too_late

    @property
    def far_behind(self) -> Collection[Key]:
        """The splits that no other split waits for."""
        return {key for key, lag in self._lags.items() if lag.far_behind}

    @property
    def careful(self) -> bool:
        """Whether the query waits for a producer that has not shown its lag yet."""
        ticks = self._clock.ticks()
        return any(until > ticks for until in self._watched.values())

    def why(self, key: Key, now: int) -> str:
        """Return why the other splits wait for `key`, as the end of a sentence that begins with its
        name.
        """
        if stopped := self.ahead.why(key, now):
            return stopped
        lag = self._lags[key]
        if self._idle_timeout is None and not lag.known:
            return "has received no records yet, and is watched for some seconds"
        if key in self._cut_off:
            return "has records beyond the end of this run: of a transaction that was open, or newer ones"
        if lag.hidden_since is not None:
            return f"has a transaction open since {_time(lag.hidden_since)}"
        late = self._promised.get(key, 0) if self._idle_timeout is None else self._idle_timeout
        if lag.is_active(now) and (shown := self.shown.get(key, 0)):
            return f"has a producer that is {spoken(shown)} late"
        since = (
            "has received no records in this run"
            if lag.silent_since is None
            else f"has been silent since {_time(lag.silent_since)}"
        )
        return f"{since}, its producer may be {spoken(late)} late"

    def begin(self, max_drift: int) -> None:
        """Log at the start of a run how far `idle_timeout` keeps the query behind the clock, if it
        is longer than `max_drift` (ms); not with window-aligned batches.
        """
        if self._idle_timeout is not None and self._idle_timeout > max_drift and self._at_least is None:
            log.info(
                "idle_timeout is %s: while a partition is silent, this query runs up to %s behind the clock, "
                "because the producer may be that late",
                spoken(self._idle_timeout),
                spoken(self._idle_timeout - max_drift),
            )

    def follow(self, sources: Mapping[int, Source]) -> None:
        """Shift all recorded times, also those of `sources`, as the clock has been shifted, before
        Kafka is asked for the ends.
        """
        by, self._moved = self._clock.moved - self._moved, self._clock.moved
        if not by:
            return
        for lag in self._lags.values():
            lag.clock_moved(by)
        for source in sources.values():
            source.log.clock_moved(by)
            source.fixed_at = None if source.fixed_at is None else source.fixed_at + by
        self._first = {key: (end, at + by) for key, (end, at) in self._first.items()}
        self._resumed = {key: (end, at + by) for key, (end, at) in self._resumed.items()}
        self._began = None if self._began is None else self._began + by

    def look(self, unread: Unread, now: int, disorder: int, spark_watermark: int) -> None:
        """Measure the producers' lags from the unread records, count records that came too late,
        and correct the clock by new records. `now` is the time before Kafka was asked for the ends,
        `disorder` the assumed out-of-orderness (ms), and `spark_watermark` (ms) MIN without one.
        """
        heads, ahead = unread.heads(), dict[Key, int]()
        self._began = self._began or now
        for key, position, end in unread.splits():
            lag, source = self._lags.get(key) or self._meet(key), unread.sources[key[0]]
            hides, known_until = source.log.requests.reads_committed, source.log.learned[key[1]].known_until
            hidden_since = self._hidden_since(known_until, lag, now) if hides and source.fixed_at is None else None
            was_known = lag.known
            shown = lag.look(_clock(unread, key, now), position, end, heads.get(key), disorder, hidden_since)
            if source.fixed_at is not None and known_until == MIN:
                self._cut_off.add(key)
                lag.forget_end()
            if not lag.known and (was_known or key not in self._first):
                self._first[key] = end, now
            waited = self._promised.get(key, MAX) if self._idle_timeout is None else self._idle_timeout
            if shown is not None:
                self._learned(key, shown)
                ahead[key] = heads[key].event_time - now
                if shown > waited:
                    self._too_late.came(key, shown, waited)
            elif self._straggles(key, heads.get(key), self._far):
                self._too_late.came(key, now - heads[key].event_time, waited)
            if key in heads and (resumed := self._resumed.pop(key, None)) is not None:
                end_before, looked_at = resumed
                if heads[key].event_time <= spark_watermark:
                    self._too_late.came(key, max(0, looked_at - heads[key].event_time), None, end_before)
        self._look_at_unknown(unread, now)
        ticks = self._clock.ticks()
        for key in [key for key, until in self._watched.items() if until <= ticks]:
            del self._watched[key]
            self._lags[key].is_silent()
        if spark_watermark > MIN:
            self._too_late.look(unread, spark_watermark)
        self._clock.show(ahead | self.ahead.look(unread, now, spark_watermark))

    def backlogs(
        self, unread: Unread, now: int, bounds: Bounds, backlogs: dict[Key, Backlog], apart_ms: int
    ) -> dict[Key, Backlog]:
        """Mark the splits in `backlogs` that are far behind and, without `idle_timeout`, set their
        lag bounds, in place. `apart_ms` is the time between two reports to the group, or 0.
        """
        max_drift = bounds.max_drift
        for key in self._find_far_behind(unread, now, max_drift):
            backlogs[key] = replace(backlogs[key], far_behind=True)
        if self._idle_timeout is not None:
            return backlogs
        for key, backlog in backlogs.items():
            lag, at = self._lags[key], _clock(unread, key, now)
            disorder = bounds.disorder if backlog.disorder is None else backlog.disorder
            if self._at_least is not None:
                bound, until = max(self._at_least, lag.expected(at, disorder)), backlog.known_until
            else:
                bound = lag.bound(at, max_drift, disorder, GRACE_MS + 2 * apart_ms) if lag.known else UNKNOWN_MS
                # What a transaction hides behind a fixed end may be of any age.
                until = MIN if key in self._cut_off else at
                self._warn(key, lag, bound, max_drift)
            self._promised[key], backlogs[key] = bound, replace(backlog, known_until=until, lag_bound=bound)
        return backlogs

    def watch(self, limit: Limit, unread: Unread, now: int, in_group: bool) -> None:
        """Begin the wait for splits whose producer has not shown its lag yet, unless `idle_timeout`
        is set, or batches are window-aligned. In a group, it begins at once, because the reports on
        these splits may delay other queries. Otherwise it begins once a split limits a plan:
        `limit` is what would limit it without a group.
        """
        if self._idle_timeout is None and self._at_least is None and (in_group or limit is Limit.HORIZON):
            here = (key for key, _, _ in unread.splits())
            if unknown := [key for key in here if not self._lags[key].known and key not in self._watched]:
                found, ticks = watches(unknown, unread, self._lags, now, self._limit, self._far), self._clock.ticks()
                self._watched |= {key: ticks + seconds for key, seconds in found.items()}

    def sum_up(self) -> None:
        """Log the late records that were not logged yet."""
        self._too_late.sum_up()

    def keep(self, max_drift: int, at_once: bool = False) -> None:
        """Write the lags beside the checkpoint if they have grown, or if `at_once`. Lags up to half
        of `max_drift` (ms) are no reason, because plans assume them in any case. Nothing is written
        with `idle_timeout`, or while the wall clock and the monotonic clock disagree.
        """
        if self._kept is not None and self._idle_timeout is None and not self._clock.jumped:
            self._kept.keep(self._lags, max_drift // 2, at_once)

    # -- inside --

    def _find_far_behind(self, unread: Unread, now: int, max_drift: int) -> Collection[Key]:
        """Return the splits that no other split waits for, and log a warning about each once."""
        bound, heads, times, far = max(self._far, max_drift), unread.heads(), dict[Key, int](), set[Key]()
        for key, _, _ in unread.splits():
            lag, head = self._lags[key], heads.get(key)
            if head is not None or lag.is_active(now):
                times[key] = lag.state.highest if head is None else head.event_time
                if lag.is_far(now, bound) or self._straggles(key, head, bound):
                    far.add(key)
        found = far_behind(times, far, bound) if far else frozenset()
        for key, lag in self._lags.items():
            lag.far_behind = key in found
        for key in found - self._told_far:
            self._told_far.add(key)
            unit = " Its timestamps look like seconds: they must be milliseconds."
            log.warning(
                "%s: its producer stamps records with %s, more than %s behind the clock and behind all other "
                "partitions. The others no longer wait for it, and its rows are late.%s Correct the producer, filter "
                'such records out before withWatermark and set past_bound="1 day", or raise max_lag above the lag',
                named(key, self._lags),
                watermark.instant(times[key]),
                spoken(bound),
                unit if abs(1000 * times[key] - now) < bound else "",
            )
        return found

    def _straggles(self, key: Key, head: Head | None, bound: int) -> bool:
        """Return whether `head`, a split's first unread record, is more than `bound` (ms) older
        than the first unread record of an earlier plan.
        """
        return head is not None and head.event_time < self._lags[key].state.highest - bound

    def _meet(self, key: Key) -> ProducerLag:
        self._lags[key] = lag = ProducerLag(self._limit, Shown() if self._kept is None else self._kept.of(key))
        if lag.state.end >= 0:
            self._resumed[key] = lag.state.end, lag.state.looked_at
        return lag

    def _learned(self, key: Key, shown: int) -> None:
        self.shown[key] = max(shown, self.shown.get(key, 0))
        self._watched.pop(key, None)
        self._first.pop(key, None)
        if self._idle_timeout is not None and shown > self._idle_timeout and key not in self._logged:
            self._logged[key] = shown
            log.warning(
                "%s: a record arrived %s behind the clock, but idle_timeout is %s, so rows that arrive this late can "
                "be dropped. Raise idle_timeout, or leave it out to wait for each partition by its own producer's lag",
                named(key, self._lags),
                spoken(shown),
                spoken(self._idle_timeout),
            )

    def _warn(self, key: Key, lag: ProducerLag, bound: int, max_drift: int) -> None:
        if not lag.known or bound <= max_drift:
            return
        shown = max(lag.state.shown, self.shown.get(key, 0))
        if lag.hidden_since is not None and int(MARGIN * shown) <= max_drift:
            if self._open_since.get(key) != lag.hidden_since:
                self._open_since[key] = lag.hidden_since
                log.warning(
                    "%s: a transaction has been open since %s. The other partitions wait for the records in it, so "
                    "the query falls behind the clock until it ends, or its transaction.timeout.ms is over",
                    named(key, self._lags),
                    _time(lag.hidden_since),
                )
        elif bound >= _AGAIN * self._logged.get(key, 0):
            self._logged[key] = bound
            log.warning(
                "%s: its producer is %s behind the clock. The other partitions wait for it, so the query runs "
                "about %s behind the clock. While it is silent, they wait for %s (its lag plus a quarter, at most "
                "max_lag=%s)",
                named(key, self._lags),
                spoken(shown),
                spoken(max(0, shown - max_drift)),
                spoken(min(int(MARGIN * shown), self._limit)),
                spoken(self._limit),
            )

    def _hidden_since(self, known_until: int, lag: ProducerLag, now: int) -> int | None:
        if known_until >= now:
            return None
        if known_until != MIN:
            return known_until
        before = lag.state.looked_at  # by the run before this one
        if now - before > REMEMBERED_MS:
            return self._began
        return before if lag.hidden_since is None else lag.hidden_since

    def _look_at_unknown(self, unread: Unread, now: int) -> None:
        """Measure unknown lags by the first record appended after the first look at a split."""
        ranges = dict[Key, tuple[int, int]]()
        for (i, split), (end, _) in self._first.items():
            learned = unread.sources[i].log.learned.get(split)
            if learned is not None and learned.readable_to > end:
                ranges[i, split] = end, learned.readable_to
        for key, reading in unread.find(ranges, Credible()).items():
            if reading.found is not None:
                lag = self._first[key][1] - reading.found.event_time
                self._learned(key, self._lags[key].learn(lag, now))


def _time(wall_ms: int) -> str:
    return datetime.fromtimestamp(wall_ms / 1000, tz=timezone.utc).strftime("%H:%M:%S UTC")


def _clock(unread: Unread, key: Key, now: int) -> int:
    """Return when (ms) Kafka was asked for a split's end: `now`, or when AvailableNow has fixed the
    ends.
    """
    fixed_at = unread.sources[key[0]].fixed_at
    return now if fixed_at is None else min(now, fixed_at)

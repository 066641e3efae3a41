"""What the producers of a run's splits have shown of how far they are behind the clock, and what its plans go by.

Where the user sets `idle_timeout`, that is a promise for all splits, and what is measured is only compared with it. Where it is unset, each
split's bound is what its own producer has shown (`lockgate.producer_lag`), beginning with some care (`care`). It is kept beside the
checkpoint, so that a restart begins with it.

With event-time slices a window is closed a minute past its end at least, or later where a producer has shown more.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from lockgate.planner import Backlog, Bounds, Head, Limit
from lockgate.producer_lag import GRACE_MS, MARGIN, ProducerLag
from lockgate.survey import Survey
from lockgate.watermark import MAX, MIN
from lockgate_spark.config import Alignment
from lockgate_spark.duration import milliseconds, spoken
from lockgate_spark.logs.crossing import Credible
from lockgate_spark.logs.unread import Key, Unread
from lockgate_spark.planning.care import UNKNOWN_MS, Care
from lockgate_spark.planning.kept_lags import KeptLags

log = logging.getLogger("lockgate")

_AGAIN = 1.25  # what was told of is told again where it is more by so much


class Producers:
    """Of one run. `kept`: where what was shown is kept over restarts, if anywhere. `ticks`: a monotonic clock, in seconds."""

    def __init__(self, alignment: Alignment, kept: KeptLags | None = None, ticks: Callable[[], float] = time.monotonic) -> None:
        self._idle_timeout = None if alignment.idle_timeout is None else alignment.bounds.idle_timeout
        self._at_least = alignment.bounds.idle_timeout if alignment.slice is not None else None
        self._limit = milliseconds("Alignment(max_lag)", alignment.max_lag)
        self._kept, self._care = kept, Care(ticks)
        self._lags: dict[Key, ProducerLag] = {}
        self._shown: dict[Key, int] = {}  # the most of this run
        self._promised: dict[Key, int] = {}  # the bounds of the last plan, ms
        self._first: dict[Key, tuple[int, int]] = {}  # of splits that have shown nothing: where the log ended first, and when
        self._told: dict[Key, int] = {}
        self._began: int | None = None
        self.too_late = 0  # offsets that came further behind than their producer had shown, and are behind Spark's watermark

    @property
    def learns(self) -> bool:
        """Whether bounds are learned; else `idle_timeout` is one for all."""
        return self._idle_timeout is None

    @property
    def shown(self) -> Mapping[Key, int]:
        """The most (ms) that each producer was seen to be behind in this run, those left out that were not seen."""
        return self._shown

    @property
    def careful(self) -> bool:
        """Whether a split that has shown nothing is waited for."""
        return self._care.goes_on()

    def why(self, key: Key, now: int) -> str:
        """Why a split may still bring old records, at `now` (wall clock in ms): the end of a sentence that begins with the split."""
        lag = self._lags.get(key)
        if lag is None:
            return "holds the others"
        if self.learns and not lag.known:
            return "has shown nothing yet, and is watched for some seconds"
        if lag.hidden_since is not None:
            return f"has a transaction open since {_time(lag.hidden_since)}"
        late = self._promised.get(key, 0) if self._idle_timeout is None else self._idle_timeout
        if lag.is_active(now) and (shown := self._shown.get(key, 0)):
            return f"has a producer that is {spoken(shown)} late"
        since = "has brought nothing in this run" if lag.silent_since is None else f"has been silent since {_time(lag.silent_since)}"
        return f"{since}, its producer may be {spoken(late)} late"

    def begin(self, max_drift: int) -> None:
        """At the start of a run: what a promise costs."""
        if self._idle_timeout is not None and self._idle_timeout > max_drift and self._at_least is None:
            log.info(
                "idle_timeout is %s: while a split is silent, this query runs up to %s behind the clock, for its producer may be as late."
                " Without idle_timeout a silent split holds the others only as far as its own producer has shown",
                spoken(self._idle_timeout),
                spoken(self._idle_timeout - max_drift),
            )

    def look(self, unread: Unread, now: int, disorder: int) -> dict[Key, int]:
        """Learns from what is unread at `now` (wall clock in ms, before the broker was asked). `disorder`: how far out of order (ms) the
        plans may take records to be. Returns by how much (ms) a producer was behind, where that is more than the plan before expected.
        """
        heads, beyond = unread.heads(), {}
        self._began = self._began or now
        hides = {i: source.fixed_at is None and source.log.reads_committed for i, source in unread.sources.items()}
        for key, position, end in unread.splits():
            lag = self._lags.get(key) or self._meet(key, end, now)
            hidden_since = self._hidden_since(unread, key, now) if hides[key[0]] else None
            shown = lag.look(_clock(unread, key, now), position, end, heads.get(key), disorder, hidden_since)
            if shown is not None:
                self._learned(key, shown)
                if shown > (self._promised.get(key, MAX) if self._idle_timeout is None else self._idle_timeout):
                    beyond[key] = shown
        self._look_at_unknown(unread, now)
        for key in self._care.take_over():
            self._lags[key].known = True
        return beyond

    def backlogs(self, unread: Unread, now: int, bounds: Bounds, backlogs: dict[Key, Backlog], apart_ms: int) -> dict[Key, Backlog]:
        """What is unread, with the bound of each split. `apart_ms`: how far apart the reports to a group are; 0 without one."""
        max_drift = bounds.max_drift
        if not self.learns:
            return backlogs
        for key, backlog in backlogs.items():
            lag, at = self._lags[key], _clock(unread, key, now)
            disorder = bounds.disorder if backlog.disorder is None else backlog.disorder
            if self._at_least is not None:
                self._promised[key] = bound = max(self._at_least, lag.expected(at, disorder))
                backlogs[key] = replace(backlog, lag_bound=bound)
                continue
            self._promised[key] = bound = lag.bound(at, max_drift, disorder, GRACE_MS + 2 * apart_ms) if lag.known else UNKNOWN_MS
            backlogs[key] = replace(backlog, known_until=at, lag_bound=bound)
            self._tell(key, lag, bound, max_drift)
        return backlogs

    def held(self, survey: Survey[Key], now: int, in_group: bool) -> None:
        """To be called with each plan: where something is held back, splits that have shown nothing are waited for. In a group others may
        be held back by what is reported, so that the wait begins at once.
        """
        if self.learns and self._at_least is None and (in_group or survey.limit is Limit.HORIZON):
            unknown = [key for key, lag in self._lags.items() if not lag.known]
            if unknown:
                self._care.begin(unknown, survey.highest, now - self._limit)

    def tell_late(self, beyond: Mapping[Key, int], counts: Mapping[Key, int]) -> None:
        """Records came further behind than their producers had shown. `counts`: how many of them are behind Spark's watermark."""
        for key, count in counts.items():
            self.too_late += count
            if count:
                log.warning(
                    "%s: %d records came up to %s behind the clock, further than their producer had shown: they are at or below Spark's"
                    " watermark, and a stateful operator drops them. From now on the other splits wait for it",
                    named(key),
                    count,
                    spoken(beyond[key]),
                )

    def keep(self, now: int, at_once: bool = False) -> None:
        """Keeps what was shown beside the checkpoint, now and then."""
        if self._kept is not None and self.learns:
            self._kept.write(self._lags, now, at_once)

    # -- inside --

    def _meet(self, key: Key, end: int, now: int) -> ProducerLag:
        lag = None if self._kept is None else self._kept.lag(key, self._limit)
        self._lags[key] = lag = ProducerLag(self._limit) if lag is None else lag
        if not lag.known:
            self._first[key] = end, now
        return lag

    def _learned(self, key: Key, shown: int) -> None:
        self._shown[key] = max(shown, self._shown.get(key, 0))
        self._care.end(key)
        self._first.pop(key, None)
        if self._idle_timeout is not None and shown > self._idle_timeout and key not in self._told:
            self._told[key] = shown
            log.warning(
                "%s: a record came %s behind the clock, and idle_timeout is %s: rows of a producer so far behind can be late and dropped."
                " A longer idle_timeout waits for it, and lets a silent split hold the others for as long; without any, each split is"
                " waited for as far as its own producer has shown",
                named(key),
                spoken(shown),
                spoken(self._idle_timeout),
            )

    def _tell(self, key: Key, lag: ProducerLag, bound: int, max_drift: int) -> None:
        if not lag.known or bound <= max_drift or bound < _AGAIN * self._told.get(key, 0):
            return
        self._told[key] = bound
        shown = max(lag.shown, self._shown.get(key, 0))
        log.warning(
            "%s: its producer is %s behind the clock. The other splits wait for it, so that the query runs about %s behind the clock. While"
            " that split is silent, they wait for %s (a quarter more than it has shown, and max_lag=%s at most)",
            named(key),
            spoken(shown),
            spoken(max(0, shown - max_drift)),
            spoken(min(int(MARGIN * shown), self._limit)),
            spoken(self._limit),
        )

    def _hidden_since(self, unread: Unread, key: Key, now: int) -> int | None:
        known_until = unread.sources[key[0]].log.known_until(key[1])
        return None if known_until >= now else self._began if known_until == MIN else known_until

    def _look_at_unknown(self, unread: Unread, now: int) -> None:
        """A split that has shown nothing and holds unread records shows itself by the first one that came after the first look at it."""
        asked: dict[int, dict[str, tuple[int, int]]] = {}
        for (i, split), (first_end, _) in self._first.items():
            reach = unread.visible_end(i, split)
            if reach is not None and reach > first_end:
                asked.setdefault(i, {})[split] = first_end, reach
        for i, ranges in asked.items():
            for split, reading in unread.sources[i].log.find(Credible(), ranges).items():
                key, at = (i, split), self._first[i, split][1]
                if reading.found is not None:
                    self._learned(key, self._lags[key].learn(at - reading.found.event_time, now))


def named(key: Key) -> str:
    """A split, for a person."""
    topic, _, partition = key[1].rpartition("-")
    return f"topic {topic}, partition {partition}"


def too_late(unread: Unread, keys: Mapping[Key, int], watermark: int) -> dict[Key, int]:
    """How many unread offsets of these splits lie before their first record above Spark's watermark (ms)."""
    above: Mapping[Key, Head] = unread.first_after(watermark)
    ends = {key: (position, end) for key, position, end in unread.splits() if key in keys}
    return {key: (above[key].offset if key in above else end) - position for key, (position, end) in ends.items()}


def _time(wall_ms: int) -> str:
    return datetime.fromtimestamp(wall_ms / 1000, tz=timezone.utc).strftime("%H:%M:%S UTC")


def _clock(unread: Unread, key: Key, now: int) -> int:
    """As of when the end of a split is known: when it was fixed, under AvailableNow."""
    fixed_at = unread.sources[key[0]].fixed_at
    return now if fixed_at is None else min(now, fixed_at)

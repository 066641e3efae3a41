"""Makes the first step of each plan, the *look*, which sends the plan's requests to Kafka. If a
later step lacks an answer, `steps.answered` requests it.

A look needs only the offsets at which the next batch begins, so it can be made *ahead*, while Spark
still runs the current one. A plan made from it misses only the newest records. It loses no rows,
because every plan allows for records that are still to come. Both batches must be limited by their
budgets; in live operation, they are not.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import cached_property
from typing import NamedTuple

from lockgate.plan.answers import LogAnswers
from lockgate.plan.model import Limit
from lockgate.plan.search import Curve
from lockgate_spark.config import credible_at
from lockgate_spark.errors import Stopped
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Unread
from lockgate_spark.planning.bounds import QueryBounds
from lockgate_spark.planning.driver_clock import DriverClock
from lockgate_spark.planning.kept_lags import KeptLags
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.slices import Slices
from lockgate_spark.planning.start_checks import DelayCheck, EventTimeCheck, check_event_time, warn_at_start
from lockgate_spark.planning.steps import Look, Planned, Query
from lockgate_spark.spark_run import Checkpointed
from lockgate_spark.telemetry.observer import Observer

log = logging.getLogger("lockgate")

_STEP_S = 0.1  # a wait looks this often whether the query still runs
_SETTLE_S = 5.0  # longer than an interrupt takes

Positions = Mapping[int, Offsets]
Begin = Callable[[Callable[[], None]], Callable[[], object]]
"""A function that runs its argument on another thread. It returns a function that interrupts the
requests of that thread.
"""


class Looker:
    """Makes the looks of one run, once Spark has opened all sources. Each search starts from the
    result of the previous one. `last` is the last look, or None.
    """

    def __init__(self, query: Query, bounds: QueryBounds, clock: DriverClock, observer: Observer) -> None:
        self._query, self._bounds, self._clock, self._observer = query, bounds, clock, observer
        self.last: Look | None = None
        self._learned: Curve | None = None
        self._event_time_check, self._delay_check = EventTimeCheck(), DelayCheck()

    @cached_property
    def slices(self) -> Slices | None:
        """The windows of this run's batches; None without `Alignment(slice=…)`, and in observe
        mode.
        """
        return None if self._query.observes else Slices.of(self._query)

    @cached_property
    def producers(self) -> Producers:
        """The measured lags of the producers, and the bounds that follow from them."""
        kept = None if self._query.observes else KeptLags(self._query.run.memory("lags-"), int(self._clock() * 1000))
        return Producers(self._query.alignment, self._clock, kept)

    def look(self, positions: Positions, read_upto: int, *, again: bool = False) -> Look:
        """Ask Kafka about the unread records, which begin at the offsets `positions`, and return
        the answers, or the last look if it is still valid, unless `again`. Each call also measures
        the producers' lags, and counts records that came too late.

        `read_upto` is the event time (ms) up to which this run has read. Raises
        `ConfigurationError` if Spark does not have the time zone `slice_zone`, and the errors of
        `EventTimeCheck.check`. The first look also raises those of `check_event_time`.
        """
        now, last, sources = self._clock(), self.last, self._query.sources
        now_ms = int(now * 1000)
        self.producers.follow(sources)
        unread = Unread.ask(sources, positions, now_ms, credible_at(self._query.alignment, now_ms))
        if last is None:
            self._begin(unread)
        self._event_time_check.check(unread)
        spark_watermark = self._bounds.spark_watermark(read_upto)
        self.producers.look(unread, now_ms, self._bounds.most_disorder, spark_watermark)
        self.producers.keep(self._bounds.now().max_drift)
        if last is None or again or not last.holds(unread, now):
            self._bounds.measure(unread, now)
            self._delay_check.warn(self._bounds.delay, self._bounds.now(), self._bounds.in_payload)
            last = self.last = self._search(unread, now)
        in_group = self._query.membership is not None
        self.producers.watch(last.answers.limit, last.unread, int(self._clock() * 1000), in_group)
        self.look_at_slices(last)
        return last

    def look_at_slices(self, look: Look) -> None:
        """Update the splits with missing records before a plan is made from `look`."""
        if self.slices is not None:
            self.slices.look(look)

    def sum_up(self) -> None:
        """Log the late records that were not logged yet, and store the producers' lags."""
        if self.last is not None:
            self.producers.sum_up()
            self.producers.keep(self._bounds.now().max_drift, at_once=True)

    def _begin(self, unread: Unread) -> None:
        payloads = (source.event_time is not None for source in self._query.sources.values())
        check_event_time(self._query.run, payloads, self._query.alignment)
        warn_at_start(self._query.run, unread, self._bounds.now())
        self._observer.begin(self._query.run)
        self.producers.begin(self._bounds.now().max_drift)

    def _search(self, unread: Unread, now: float) -> Look:
        """Ask Kafka for all answers that a draft needs. It was asked for `unread` at `now` (s)."""
        bounds = self._bounds.now()
        budgets = {i: source.budget for i, source in self._query.sources.items()}
        apart_ms = 0 if self._query.membership is None else int(self._query.membership.update_interval_s * 1000)
        confirmed = False
        # Each look-up that turns out to have found no record asks for another round: a few for each
        # source at most.
        while not confirmed:
            backlogs = self._bounds.careful(unread.backlogs())
            backlogs = self.producers.backlogs(unread, int(now * 1000), bounds, backlogs, apart_ms)
            answers = LogAnswers(backlogs, unread, bounds, budgets, self._learned)
            confirmed = unread.confirm(answers.found.target, answers.cut(answers.found.target))
        self._learned = answers.curve
        learned = None if self._bounds.are_promised else bounds.disorder
        steps = self._bounds.now(in_order=True).max_drift, bounds.max_drift - bounds.disorder
        self._observer.warn(self._bounds.most_disorder, learned, steps)
        return Look(now, unread, bounds, answers.closed())


class _UnderWay(NamedTuple):
    positions: Positions
    look: Future[Look]
    interrupt: Callable[[], object]


class LookAhead:
    """Makes the look for the next plan of one run on another thread, which `begin` starts, unless
    it is None. `clock` is the wall clock in seconds. From the start of a look until `take` or `end`
    has returned, only the look's thread may use `looker`.
    """

    def __init__(self, looker: Looker, run: Checkpointed, clock: Callable[[], float], begin: Begin | None) -> None:
        self._looker, self._run, self._clock, self._begin = looker, run, clock, begin
        self._under_way: _UnderWay | None = None

    def begin(self, after: Planned, positions: Positions, read_upto: int) -> None:
        """Begin the look for the plan that follows `after`, if a budget has limited the batch of
        `after`, which ends at `positions`. The run has read up to `read_upto` (event time in ms).
        """
        if self._begin is None or after.plan.offsets == 0 or after.look.answers.limit is not Limit.BUDGET:
            return
        future: Future[Look] = Future()

        def look() -> None:
            try:
                future.set_result(self._looker.look(positions, read_upto))
            except Exception as error:  # the look that Spark asks for says so
                log.debug("the look ahead failed", exc_info=error)
                future.set_exception(error)

        self._under_way = _UnderWay(positions, future, self._begin(look))

    def take(self, positions: Positions) -> Look | None:
        """Wait for the look that `begin` has started, and return it. Return None if there is none,
        or if it was made for other positions, has failed, or is no longer valid. Raises `Stopped`
        if the query is stopped during the wait.
        """
        if self._under_way is None:
            return None
        made_for, made, _ = self._under_way
        while not wait((made,), _STEP_S).done:
            if not self._run.is_active():
                raise Stopped()
        self._under_way = None
        if made_for != positions or made.exception() is not None:
            return None
        look = made.result()
        if not look.holds_unseen(self._clock()):
            return None
        self._looker.look_at_slices(look)  # records may have been deleted since the look
        return look

    @property
    def under_way(self) -> bool:
        """Whether a look is being made."""
        return self._under_way is not None and not self._under_way.look.done()

    def end(self) -> None:
        """Interrupt the look that is under way, if any, and wait up to five seconds for its end."""
        if self._under_way is not None:
            self._under_way.interrupt()
            wait((self._under_way.look,), _SETTLE_S)

"""Makes the first step of each plan, the *look*, which sends the plan's requests to Kafka. The
search for the highest event time that the budgets allow is part of it, because each of its requests
depends on the previous answer. If a later step lacks an answer, `steps.answered` requests it.
"""

from collections.abc import Mapping
from functools import cached_property

from lockgate.plan.answers import LogAnswers
from lockgate.plan.search import Curve
from lockgate_spark.config import credible_at
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Unread
from lockgate_spark.planning.bounds import QueryBounds
from lockgate_spark.planning.driver_clock import DriverClock
from lockgate_spark.planning.event_time_check import EventTimeCheck
from lockgate_spark.planning.kept_lags import KeptLags
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.run import Query
from lockgate_spark.planning.slices import Slices
from lockgate_spark.planning.start_checks import DelayCheck, check_event_time, warn_at_start
from lockgate_spark.planning.steps import Look
from lockgate_spark.telemetry.observer import Observer


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

    def look(self, positions: Mapping[int, Offsets], read_upto: int, *, again: bool = False) -> Look:
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
        self._observer.records.warn(self._bounds.most_disorder, learned, steps)
        return Look(now, unread, bounds, answers.closed())

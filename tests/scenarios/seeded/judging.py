"""The verdicts on a scenario: which rows were lost, and whether that broke the promise of
docs/how-it-works.md. Pure.

**The claim.** An earlier batch made the lost row late, the *culprit*. It is the first batch with a
record so far above the row that Spark's watermark passed it. The loss breaks the promise if the row
is no further out of order than `disorder` says, and if one of these held when the culprit was
planned:

* The row was in the log.
* The row's producer had shown that it may be so far behind. That is within `idle_timeout` where
  that is set. Else it is within `max_drift`, or within the lag of a record that the producer had
  brought, `LEARNS_WITHIN_MS` before, while the query ran (`shown_ms`).
* The row's partition is one that the run watches at its beginning, and it appended then.
* The run is under `availableNow`, and the row was in the log when it began, be it in a transaction
  that was open.

A loss whose culprit was read natively is none of ours. A row that a split brings further behind
than it ever was before is outside the claim, and counted apart.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import NamedTuple

from lockgate.plan.producer_lag import MARGIN
from lockgate_spark.planning.bounds import ENOUGH, most_learned
from lockgate_spark.planning.startup_grace import LONGEST_WATCH_S
from seeded.figures import misstated
from seeded.played import AVAILABLE_NOW, Batch, Lane, Look, Played, Record, Run, Split
from seeded.scenario import HOUR_MS, MINUTE_MS, SECOND_MS, Query, Scenario, Stop
from seeded.truth import Readings, late_from, readings, tally

INF = float("inf")
LEARNS_WITHIN_MS = 2_000.0
MOST_LAG_MS = HOUR_MS  # the default of `max_lag`: beyond it a producer is waited for while it appends
ACTIVE_MS = MINUTE_MS  # it does so if it has for so long
NEVER_HELD_MS = 24 * HOUR_MS  # a producer that is further behind holds nobody
REMEMBERED_MS = HOUR_MS  # a lag, in full
WATCHED_MS = 3.5 * SECOND_MS  # a new run sees whether a partition appends, that has shown nothing for longer
# a new query watches for so long whether a split that has shown nothing appends
RUN_S = 5.0 + LONGEST_WATCH_S
# beyond native's own; or native's own once more, on a machine that is busy
FRESH_P50_S, FRESH_P99_S = 1.0, 3.0
# by then a plan has compared `ENOUGH` records of a split, although it samples only some of them
SURELY_ENOUGH = 2 * ENOUGH
WORSE_SHARE, WORSE_ROWS = 0.02, 5  # two queries that lose rows do not lose the very same ones


@dataclass(frozen=True, slots=True)
class Behind:
    """Seconds from a producer's stamp to foreachBatch, of records that came while the query ran;
    unread ones until the end at least.
    """

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one scenario. Rows `lost` by the aligned lane: `inside` the claim and outside.
    `broken`: the broken claims, in words.
    """

    seed: int
    kind: str
    title: str
    rows: int
    native_lost: int | None
    lost: int
    inside: int
    duplicates: int
    unread: int
    native_behind: Behind | None = None
    behind: Behind | None = None
    allowed_s: float | None = None
    broken: tuple[str, ...] = ()
    took_s: float = 0.0
    code: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken


def judge(scenario: Scenario, played: Played) -> Verdict:
    """All verdicts on one scenario."""
    query, lane = scenario.query, played.aligned
    read = readings(lane, played.records)
    found = tally(query, lane, read, played.deleted)
    inside = [record for record in found.lost if is_claimed(query, played, read, record)]
    native = (
        None
        if played.native is None
        else tally(query, played.native, readings(played.native, played.records), played.deleted)
    )
    native_lost = None if native is None else len(native.lost)
    # what Spark cannot do alone is not for alignment to mend
    lives = played.native is None or played.native.failure is None
    looks = lane.looks if lives else ()
    unread = {look.what: len(left) for look in looks if (left := unread_by(look, lane, played, read, query))}
    behind = [None if each is None else seconds_behind(each, played) for each in (played.native, lane)]
    allowed = allowed_s(query, played) if scenario.fresh and lives else None
    broken = [
        *_died(played),
        *([f"{len(inside)} rows lost that the promise keeps"] if inside else []),
        *([f"{found.extra} rows too many"] if found.extra else []),
        *([f"{rows} rows that were there left unread by {what}" for what, rows in unread.items()]),
        *_worse(native_lost, len(found.lost), found.due),
        *(too_late(played, behind[0], behind[1], allowed) if allowed is not None else []),
        *misstated(scenario, lane, read, [record for record in found.lost if record not in inside]),
        *wrongly_complete(query, played),
        *wrongly_incomplete(scenario, played),
    ]
    return Verdict(
        seed=scenario.seed,
        kind=scenario.kind.value,
        title=scenario.title,
        rows=len(played.records),
        native_lost=native_lost,
        lost=len(found.lost),
        inside=len(inside),
        duplicates=found.extra,
        unread=sum(unread.values()),
        native_behind=behind[0],
        behind=behind[1],
        allowed_s=None if allowed is None else allowed.p50,
        broken=tuple(broken),
        notes=tuple(_notes(played)),
    )


def unplayed(scenario: Scenario, why: str) -> Verdict:
    """The verdict on a scenario of which nothing is known."""
    said = (f"it could not be played: {why}",)
    return Verdict(scenario.seed, scenario.kind.value, scenario.title, 0, None, 0, 0, 0, 0, broken=said)


def _died(played: Played) -> list[str]:
    """A query that dies natively too is not for alignment to mend."""
    if played.aligned.failure is None or (played.native is not None and played.native.failure is not None):
        return []
    return [f"the query died: {played.aligned.failure}"]


def _notes(played: Played) -> list[str]:
    native = played.native.failure if played.native is not None else None
    complete = sum(made.complete for made in played.aligned.slices)
    return [
        *([f"natively the query died: {native}"] if native else []),
        *([f"{complete} of {len(played.aligned.slices)} slices complete"] if played.aligned.slices else []),
        f"{len(played.aligned.batches)} batches",
    ]


def _worse(native: int | None, aligned: int, due: int) -> list[str]:
    if native is None or aligned <= native + max(WORSE_ROWS, WORSE_SHARE * due):
        return []
    return [f"{aligned} rows lost, more than the {native} natively"]


# -- is a lost row one that the promise keeps? --


def is_claimed(query: Query, played: Played, read: Readings, record: Record) -> bool:
    """Whether the promise would have kept a row that was lost."""
    if query.observes or out_of_order(played.records, record) > query.disorder_ms:
        return False
    culprit = culprit_of(query, played.aligned, read, record)
    if culprit is None:
        return True
    if not played.aligned.aligned_at(culprit.number):
        return False
    planned, run = culprit.planned_at, run_of(played.aligned, culprit)
    there = record.visible_at
    if run is not None and run.available_now:
        there, planned = record.sent_at, min(planned, run.began_at)
    if there is not None and there <= planned:
        return True
    watched = 0.0 if run is None else watched_ms(played, record.split, run)
    return record.lag_ms <= max(bound_ms(query, played, record.split, culprit.planned_at), watched)


def culprit_of(query: Query, lane: Lane, read: Readings, record: Record) -> Batch | None:
    """The first batch that lifted Spark's watermark to where the row is late; None where no batch
    did.
    """
    late = late_from(query, record) + query.delay_ms
    above = (read.batch(other) for other in read.records if other.event_time >= late)
    return min(above, key=lambda batch: batch.number, default=None)


def run_of(lane: Lane, batch: Batch) -> Run | None:
    """The run that has read a batch."""
    return next((run for run in reversed(lane.runs) if run.first <= batch.number), None)


def bound_ms(query: Query, played: Played, split: Split, at: float) -> float:
    """How far behind the clock the records of a split may come without a loss, as of a wall clock
    (ms).
    """
    if "idle_timeout" in query.alignment:
        return float(query.alignment["idle_timeout"])
    return max(float(query.max_drift_ms), shown_ms(played, split, at - LEARNS_WITHIN_MS))


def shown_ms(played: Played, split: Split, by: float) -> float:
    """The most that a producer had shown by a wall clock (ms) while the query ran and within the
    time that is remembered, 0 where nothing. A producer that is silent is waited for less long.
    """
    shown = [(at, lag) for at, lag in _shown(played, split) if by - REMEMBERED_MS <= at <= by or at <= by == INF]
    active = by == INF or any(at >= by - ACTIVE_MS for at, _ in shown)
    return max((lag for _, lag in shown if active or lag <= MOST_LAG_MS), default=0.0)


def watched_ms(played: Played, split: Split, run: Run) -> float:
    """The most that a producer has shown at the beginning of a run, which waits for that where it
    remembers nothing.
    """
    shown = _shown(played, split)
    if any(run.began_at - REMEMBERED_MS <= at < run.began_at for at, _ in shown):
        return 0.0
    return max((lag for at, lag in shown if 0 <= at - run.began_at <= WATCHED_MS), default=0.0)


def _shown(played: Played, split: Split) -> list[tuple[float, float]]:
    """When (wall clock in ms) the records of a split came while the query ran, and with which
    lag.
    """
    ran = [(run.began_at, run.ended_at) for run in played.aligned.runs]
    return [
        (record.visible_at, record.shows_ms)
        for record in played.records
        if record.split == split and record.timed and record.visible_at is not None
        if record.shows_ms <= NEVER_HELD_MS
        if any(began <= record.visible_at <= ended for began, ended in ran)
    ]


def out_of_order(records: Iterable[Record], record: Record) -> int:
    """How far (ms) a record is behind one before it in its log."""
    before = (
        r.event_time
        for r in records
        if r.split == record.split and r.offset < record.offset and r.visible_at is not None and r.timed
    )
    return max(0, max(before, default=record.event_time) - record.event_time)


# -- was all read that was to be read, and in time? --


def unread_by(look: Look, lane: Lane, played: Played, read: Readings, query: Query) -> list[Record]:
    """The records that were visible and are not in a batch that had ended by then. A run under
    `availableNow` may leave those above a live split by more than the drift less its disorder.
    """
    there = [r for r in played.records if r.visible_at is not None and r.visible_at <= look.visible_at]
    highest = {r.split: r.event_time for r in sorted(there, key=lambda r: r.event_time) if r.timed}
    live = {r.split for r in there if r.visible_at is not None and r.visible_at > look.visible_at - ACTIVE_MS}
    reaches = (highest[split] - taken_disorder_ms(query, played, split) for split in live & highest.keys())
    bound = min(reaches, default=INF) + query.max_drift_ms
    due = (r for r in there if r.event_time <= bound or look.what != AVAILABLE_NOW)
    due = (r for r in due if r.offset >= max(lane.begins.get(r.split, 0), played.deleted.get(r.split, 0)))
    return [r for r in due if (batch := read.by.get((r.split, r.offset))) is None or batch.finished_at > look.read_by]


def seconds_behind(lane: Lane, played: Played) -> Behind | None:
    """Seconds behind the clock while the query ran, of the records that came live and were visible
    for a moment.
    """
    read, end = readings(lane, played.records), max((run.ended_at for run in lane.runs), default=0.0)
    waited = []
    for r in played.records:
        if r.live and r.visible_at is not None:
            batch = read.by.get((r.split, r.offset))
            waited.append(_ran_s(lane, r.visible_at, end if batch is None else batch.finished_at))
    return _percentiles(waited)


def _ran_s(lane: Lane, since: float, until: float) -> float:
    return sum(max(0.0, min(run.ended_at, until) - max(run.began_at, since)) for run in lane.runs) / 1000


def _percentiles(values: Sequence[float]) -> Behind | None:
    if len(values) < 2:
        return None
    cuts = quantiles(values, n=100, method="inclusive")
    return Behind(round(cuts[49], 2), round(cuts[98], 2))


class Allowed(NamedTuple):
    """For how long (s) a row may wait for the other splits, at the median and at most."""

    p50: float
    p99: float


def allowed_s(query: Query, played: Played) -> Allowed:
    """For how long a row may wait: for the split that may be waited for longest."""
    splits = {record.split for record in played.records}
    waits = [[wait_ms(query, played, split, silent) for split in splits] for silent in (False, True)]
    return Allowed(*(max(each, default=0.0) / 1000 for each in waits))


def wait_ms(query: Query, played: Played, split: Split, silent: bool) -> float:
    """How long the other splits wait for one: its lag less the drift, and for a quarter of the lag
    more while it is `silent`.
    """
    if "idle_timeout" in query.alignment:
        return max(0.0, float(query.alignment["idle_timeout"]) - query.max_drift_ms)
    lag, out_of_order = shown_ms(played, split, INF), taken_disorder_ms(query, played, split, silent)
    return max(0.0, (MARGIN if silent else 1.0) * lag + out_of_order - query.max_drift_ms) if lag else 0.0


def taken_disorder_ms(query: Query, played: Played, split: Split, begins: bool = False) -> int:
    """How far a run takes a split to be out of order: by half of the drift until it has compared
    enough of its records, which it has not where it `begins`.
    """
    came = [r.visible_at for r in played.records if r.split == split and r.visible_at is not None]
    most = max((sum(run.began_at <= at <= run.ended_at for at in came) for run in played.aligned.runs), default=0)
    learns = "max_out_of_orderness" not in query.alignment and (begins or most < SURELY_ENOUGH)
    return most_learned(query.max_drift_ms) if learns else query.disorder_ms


def too_late(played: Played, native: Behind | None, aligned: Behind | None, allowed: Allowed) -> list[str]:
    """Judges live runs by how far they were behind, others by how long they took."""
    if played.native is None or not any(run.available_now for run in played.aligned.runs):
        return too_far_behind(native, aligned, allowed)
    found = []
    for ours, theirs in zip(played.aligned.runs, played.native.runs, strict=False):
        took, natively = ((run.ended_at - run.began_at) / 1000 for run in (ours, theirs))
        if ours.available_now and took - natively > allowed.p50 + max(RUN_S, natively):
            found.append(f"a run under availableNow took {took:.1f} s, natively {natively:.1f} s")
    return found


def too_far_behind(native: Behind | None, aligned: Behind | None, allowed: Allowed) -> list[str]:
    """Whether the aligned lane is later than it may be, beside native: at the median, and at the
    99th percentile.
    """
    if native is None or aligned is None:
        return []
    found = []
    for name, theirs, ours, slack, may in (
        ("p50", native.p50, aligned.p50, FRESH_P50_S, allowed.p50),
        ("p99", native.p99, aligned.p99, FRESH_P99_S, allowed.p99),
    ):
        if ours - theirs > may + max(slack, theirs):
            found.append(
                f"{ours:.1f} s behind the producers at {name}, natively {theirs:.1f} s, and {may:.1f} s may be waited"
            )
    return found


# -- windows that were called complete, or could have been --


def wrongly_complete(query: Query, played: Played) -> list[str]:
    """Windows that were handed out as complete, and would have overwritten more rows than they
    have.
    """
    size = query.slice_ms
    if size is None:
        return []
    found = []
    for made in played.aligned.slices:
        if not made.complete:
            continue
        there = {
            r.n
            for r in played.records
            if r.visible_at is not None and r.timed and made.start <= r.event_time < made.end
        }
        if missing := there - set(made.rows):
            found.append(f"a slice that was called complete lacks {len(missing)} of {len(there)} rows")
    return found


def wrongly_incomplete(scenario: Scenario, played: Played) -> list[str]:
    """Windows that a batch could have held whole, and that no complete slice has. A straggler or a
    kill may cost some of them, but not all.
    """
    query, size, budget = scenario.query, scenario.query.slice_ms, scenario.query.most_offsets
    if size is None or not scenario.whole:
        return []
    rows = Counter(r.event_time // size * size for r in played.records if r.visible_at is not None and r.timed)
    fit = {begin for begin, count in rows.items() if count <= budget}
    complete = [made for made in played.aligned.slices if made.complete]
    missed = {begin for begin in fit if not any(made.start <= begin < made.end for made in complete)}
    excused = query.disorder_ms > 0 or any(isinstance(act, Stop) and act.killed for act in scenario.acts)
    if not missed or (excused and missed != fit):
        return []
    return [f"{len(missed)} of {len(fit)} windows within the read limit are in no complete slice"]

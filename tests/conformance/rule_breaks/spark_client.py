"""Rules of the Spark client: plans, slices, retention, gates, the search in a log, the place in a
group, outages, retries.
"""

from functools import partial

from rule_breaks.breaking import Break
from rule_breaks.client_errors import ERRORS

Client = partial(Break, package="lockgate_spark")
Shared = partial(Break, package="lockgate_http")

MIN_BATCH = ("test_min_batch.py",)
WAITS = ("test_waits.py",)
TORN = ("test_torn.py",)
KEPT = ("test_slices_kept.py",)
RETENTION = ("test_retention.py",)
GATES = ("test_gate_rule.py",)
CROSSING = ("test_crossing.py",)
INDEXED = ("test_indexed.py",)
MEMBERSHIP = ("test_membership.py",)
OUTAGE = ("test_outage_policy.py",)
RETRY = ("test_retry.py",)
ANSWERS = ("test_answers.py",)

PLANNING: tuple[Break, ...] = (
    Client(
        "a batch is put off only while no source has enough",
        "planning/min_batch.py",
        "if all(self._is_short(source, size, waited_ms)",
        "if any(self._is_short(source, size, waited_ms)",
        MIN_BATCH,
    ),
    Client(
        "no batch is put off for longer than its maxTriggerDelay",
        "planning/min_batch.py",
        "size < least.offsets and waited_ms < least.delay_ms",
        "size < least.offsets and waited_ms < 2 * least.delay_ms",
        MIN_BATCH,
    ),
    Client(
        "a batch that the budget limits is never put off",
        "planning/min_batch.py",
        "plan.limit in (Limit.END, Limit.HORIZON)",
        "plan.limit in (Limit.END, Limit.HORIZON, Limit.BUDGET)",
        MIN_BATCH,
    ),
    Client(
        "an idle query looks again within a second",
        "planning/idle_wait.py",
        "(min(longest, LONGEST_S) if idle else HELD_S)",
        "(60.0 if idle else HELD_S)",
        ("test_idle_wait.py",),
    ),
    Client(
        "sources that are idle share one wait",
        "planning/idle_wait.py",
        "share = min(left, STEP_S) / max(1, len(sources))",
        "share = min(left, STEP_S)",
        ("test_idle_wait.py",),
    ),
    Client(
        "a wait of a moment is not logged",
        "telemetry/waits.py",
        "return LOGGED_AFTER_S if ended is None",
        "return 0.0 if ended is None",
        WAITS,
    ),
    Client(
        "a wait that lasts is logged once",
        "telemetry/waits.py",
        "if self._level is None and self._now() - self._since",
        "if self._now() - self._since",
        WAITS,
    ),
    Client(
        "waits batch after batch are logged once",
        "telemetry/waits.py",
        "if self._level is not None or ended.kind in self._ended:",
        "if self._level is not None and ended.kind not in self._ended:",
        WAITS,
    ),
    Client(
        "a wait for something else is another wait",
        "telemetry/waits.py",
        "wait is None or wait.kind is not self._present.kind",
        "wait is None",
        WAITS,
    ),
    Client(
        "a wait lasts in status while Spark asks again and again",
        "status.py",
        "    if waiting is not None:\n        return waiting\n    if view is None:",
        "    if waiting is not None and run.held_view is not None:\n        return waiting\n    if view is None:",
        ("test_status_words.py",),
    ),
    Client(
        "a run that leaves a window to the next one says so",
        "planning/joint.py",
        "if plan.limit is Limit.SLICE and self.slices is not None and first is not None:\n            end =",
        "if plan.limit is Limit.END and self.slices is not None and first is not None:\n            end =",
        ("test_status_words.py",),
    ),
    Client(
        "a wait that the line of the outage has begun is not begun again",
        "telemetry/waits.py",
        "self._level = logging.WARNING if wait.is_logged else None",
        "self._level = None",
        WAITS,
    ),
)

SLICES: tuple[Break, ...] = (
    Client(
        "a window of which records were deleted is not complete",
        "planning/slices.py",
        "cut.whole and not missing and not late, missing",
        "cut.whole and not late, missing",
        TORN,
    ),
    Client(
        "records that are deleted before they were read tear their window",
        "planning/slices.py",
        "not self._torn.look_at_begins(self._seen):",
        "True:",
        TORN,
    ),
    Client(
        "a split is torn as far as its disorder reaches",
        "planning/torn.py",
        "(watermark.add(at, disorder) for upto in self.upto.values() for at in upto.values())",
        "(at for upto in self.upto.values() for at in upto.values())",
        TORN,
    ),
    Client(
        "what was torn is torn after a restart too",
        "planning/slices.py",
        "self._torn = Torn(windows, self._last.torn, self._last.ends)",
        "self._torn = Torn(windows, {}, self._last.ends)",
        TORN,
    ),
    Client(
        "a plan that was never logged is forgotten",
        "planning/slices.py",
        "for i, ends in one.ends.items() if ends} == logged)",
        "for i, ends in one.ends.items() if ends})",
        KEPT,
    ),
    Client(
        "a slice that was cut off while it was kept is forgotten",
        "planning/memory.py",
        "except (ValueError, RecursionError) as error:",
        "except RecursionError as error:",
        KEPT,
    ),
    Client(
        "on a checkpoint without slices the first one is not complete",
        "planning/slices.py",
        "self._begun_without = bool(logged) and self._last is None",
        "self._begun_without = False",
        KEPT,
    ),
    Client(
        "of a paused split only what is in danger is let go",
        "planning/retention.py",
        "taken = min(left[key[0]], min(safe_from.get(key, 0), end) - made.end)",
        "taken = min(left[key[0]], end - made.end)",
        RETENTION,
    ),
    Client(
        "what is let go keeps within the budget",
        "planning/retention.py",
        "taken = min(left[key[0]], min(safe_from.get(key, 0), end) - made.end)",
        "taken = min(safe_from.get(key, 0), end) - made.end",
        RETENTION,
    ),
)

GATED: tuple[Break, ...] = (
    Client(
        "a batch is held until the group allows its lowest event time",
        "gates/gate.py",
        "        while ceiling < span.lowest:\n",
        "        while False:\n",
        GATES,
    ),
    Client(
        "a gate keeps back what may still come out of order",
        "gates/gate.py",
        "lowest = self._top - self._bounds.disorder",
        "lowest = self._top",
        GATES,
    ),
    Client(
        "a gate without a batch is idle after its idle timeout",
        "gates/gate.py",
        "if self._batch is None and self._now() - self._since >= self._idle_after_s:",
        "if self._batch is None and self._now() - self._since >= 1_000 * self._idle_after_s:",
        GATES,
    ),
    Client(
        "a gate whose run has failed keeps its lease",
        "gates/gate.py",
        "None if failed or status is None else {0: status}",
        "None if status is None else {0: status}",
        GATES,
    ),
)

LOGS: tuple[Break, ...] = (
    Client(
        "a record that is not credible takes no part",
        "event_times.py",
        "return self.earliest <= event_time <= self.latest",
        "return self.earliest <= event_time",
        CROSSING,
    ),
    Client(
        "a record at the event time is at or below it",
        "logs/crossing.py",
        "reading.found.event_time <= self.event_time:",
        "reading.found.event_time < self.event_time:",
        INDEXED,
    ),
    Client(
        "the interval is halved whenever a guess did not",
        "logs/crossing.py",
        "self._halve = 2 * (self._upper - self.low) > width",
        "self._halve = False",
        INDEXED,
    ),
    Client(
        "a search asks for the first unread records, where they were not asked for",
        "logs/kafka.py",
        "if self._heads_asked != (positions, ends):",
        "if self._heads_asked is None:",
        ("test_confirm.py",),
    ),
    Client(
        "a record that is older than one before it shows disorder",
        "logs/points.py",
        "self.disorder = max(self.disorder, before - head.event_time, head.event_time - later)",
        "self.disorder = max(self.disorder, head.event_time - later)",
        INDEXED,
    ),
    Client(
        "stretches that touch are counted once",
        "logs/points.py",
        "if known.offset <= stop and first.offset <= known.offset + count:",
        "if known.offset < first.offset < known.offset:",
        CROSSING,
    ),
    Client(
        "of a disorder that nobody promised plans allow for half of the drift at most",
        "planning/disorder.py",
        "return max_drift // 2",
        "return max_drift",
        INDEXED,
    ),
)

GROUP: tuple[Break, ...] = (
    Shared(
        "over an outage the ceiling holds",
        "group/outage.py",
        'self.on_outage == "proceed" and lasted_s >= self.hold_for_s',
        "lasted_s >= 0",
        (*OUTAGE, *MEMBERSHIP),
    ),
    Shared(
        "a query fails only after it has held for as long as was set",
        "group/outage.py",
        "lasted_s is not None and lasted_s >= self.hold_for_s",
        "lasted_s is not None",
        OUTAGE,
    ),
    Shared(
        "an outage lasts from its first failure",
        "group/outage.py",
        "        if self._since is None:\n            self._since = self._now()\n            log.warning",
        "        if True:\n            self._since = self._now()\n            log.warning",
        OUTAGE,
    ),
    Shared(
        "an unchanged report is not sent before the update interval has passed",
        "group/membership.py",
        "if (urgent or outage.lasts or self.is_due(self._session.update_interval_s)) and outage.asks_now:",
        "if outage.asks_now:",
        MEMBERSHIP,
    ),
    Shared(
        "a newer epoch of another run fences the older run",
        "group/registration.py",
        'if (other.owner, other.attributes.get("run")) != (self._owner, self._run):',
        "if other.owner != self._owner:",
        MEMBERSHIP,
    ),
    Shared(
        "a registration that was applied twice fences nobody",
        "group/registration.py",
        'if (other.owner, other.attributes.get("run")) != (self._owner, self._run):',
        "if True:",
        MEMBERSHIP,
    ),
    Shared(
        "a paused source's ceiling is MIN",
        "group/ceiling.py",
        "if event.pause_of(self.source) is None else watermark.MIN",
        "if True else watermark.MIN",
        ("test_ceiling.py",),
    ),
    Shared(
        "an operator's pause holds through an outage",
        "group/membership.py",
        " and self.paused is None",
        "",
        ("test_outage_policy.py",),
    ),
    Shared(
        "news with a higher ceiling do not reach a query whose lease has run out",
        "group/ceiling.py",
        "if trusted or self._told_by(event) <= self.value:",
        "if True:",
        MEMBERSHIP,
    ),
    Shared(
        "an attempt is not begun beyond the deadline",
        "calls/retry.py",
        "if pace.clock() + pause >= ends:",
        "if pace.clock() >= ends:",
        RETRY,
    ),
    Shared(
        "a coordinator that asks to be left alone is left alone for so long",
        "calls/retry.py",
        "return (asked_s or 0.0) + chance * min(",
        "return chance * min(",
        RETRY,
    ),
    Shared(
        "a failure that does not pass is not tried again",
        "calls/retry.py",
        "if not error.passing or (",
        "if (",
        RETRY,
    ),
    Shared(
        "a coordinator that has no time is asked again",
        "calls/answers.py",
        "PASSING = (429, 502, 503, 504)",
        "PASSING = (502, 504)",
        ANSWERS,
    ),
    Shared(
        "a stale epoch is told apart from other conflicts",
        "calls/answers.py",
        'if problem.status == 409 and problem.type.endswith("stale-epoch"):',
        "if problem.status == 409:",
        (*ANSWERS, *MEMBERSHIP),
    ),
    Shared(
        "a drift that contradicts the group's stops the query",
        "group/agreement.py",
        "if self.chose_drift and self.max_drift != config.max_drift_ms:",
        "if False:",
        MEMBERSHIP,
    ),
    Shared(
        "a drift that is not above the disorder is refused",
        "group/agreement.py",
        "if config.max_drift_ms <= self.disorder:",
        "if config.max_drift_ms < self.disorder:",
        MEMBERSHIP,
    ),
)

SPARK_CLIENT: tuple[Break, ...] = (*PLANNING, *SLICES, *GATED, *LOGS, *GROUP, *ERRORS)

"""What a query is told at its start, and the drift that is chosen for it: rules over what its plan
says.
"""

import logging

import pytest

from lockgate.plan.model import Bounds
from lockgate_http.duration import milliseconds
from lockgate_spark import Alignment, Coordinator, UnsupportedQuery
from lockgate_spark.config import bounds_of
from lockgate_spark.event_times import Origin, QueryWatermark
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.planning.bounds import delay_of, own_bounds
from lockgate_spark.planning.start_checks import DelayCheck, check_event_time
from support.runs import RunInMemory, SourceInMemory

MINUTE = 60_000
KAFKAS = Origin(True, "timestamp", "timestamp")
PARSED = Origin(True, None, "from_json(value).ts")
FOREIGN = Origin(False, "timestamp", "timestamp")


def on(*origins: Origin, minutes: int = 10) -> QueryWatermark:
    return QueryWatermark("ts", minutes * MINUTE, origins)


def told(caplog: pytest.LogCaptureFixture, run: RunInMemory, **alignment: object) -> str:
    """What the first plan of a query says."""
    with caplog.at_level(logging.INFO, "lockgate"):
        one = AlignedRun(Alignment(**alignment), run, clock=lambda: 1000.0)  # type: ignore[arg-type]
        one.add(0, SourceInMemory({"a-0": [1]}))
        one.latest_offset(0, {"a-0": 0})
    return caplog.text


# -- the condition --


@pytest.mark.parametrize(("highest", "delay"), [(False, 20 * MINUTE), (True, 5 * MINUTE)])
def test_longest_delay_counts_and_with_policy_max_the_shortest(highest: bool, delay: int) -> None:
    assert delay_of(RunInMemory(found=[on(KAFKAS, minutes=5), on(KAFKAS, minutes=20)], highest=highest)) == delay


def test_a_delay_on_a_source_that_is_not_aligned_says_nothing() -> None:
    assert delay_of(RunInMemory(found=[on(FOREIGN)])) is None


@pytest.mark.parametrize(
    ("alignment", "delay", "drift"),
    [
        (Alignment(), None, "5 minutes"),
        (Alignment(), "10 minutes", "5 minutes"),
        (Alignment(), "2 minutes", "2 minutes"),
        (Alignment(max_out_of_orderness="2 minutes"), "2 minutes", "5 minutes"),
        (Alignment(max_drift="10 minutes"), "2 minutes", "10 minutes"),
        (Alignment(coordinator=Coordinator("http://c", group="g")), "2 minutes", "5 minutes"),
    ],
)
def test_without_a_drift_of_the_user_s_own_it_is_no_longer_than_the_delay(
    alignment: Alignment, delay: str | None, drift: str
) -> None:
    bounds = own_bounds(alignment, None if delay is None else milliseconds("delay", delay))
    assert bounds == Bounds(
        max_drift=milliseconds("drift", drift), idle_timeout=MINUTE, disorder=bounds_of(alignment).disorder
    )


@pytest.mark.parametrize(
    ("alignment", "seen", "drift", "disorder"),
    [
        (Alignment(max_out_of_orderness="30 seconds"), 0, 90_000, 30_000),
        (Alignment(max_out_of_orderness="1 minute"), 0, 120_000, 60_000),  # no drift would do
        (Alignment(), 30_000, 90_000, 30_000),
        (Alignment(), 10**9, 80_000, 40_000),
        (Alignment(max_drift="2 minutes"), 10**9, 120_000, 60_000),
    ],
)
def test_payload_delay_must_cover_drift_and_out_of_orderness(
    alignment: Alignment, seen: int, drift: int, disorder: int
) -> None:
    bounds = own_bounds(alignment, 2 * MINUTE, seen, in_payload=True)
    assert (bounds.max_drift, bounds.disorder) == (drift, disorder)
    assert own_bounds(alignment, 2 * MINUTE, seen).max_drift == 2 * MINUTE


def test_a_disorder_that_was_seen_takes_half_of_a_group_s_drift_at_most() -> None:
    bounds = own_bounds(Alignment(coordinator=Coordinator("http://c", group="g")), None, 10**9, group_drift=10_000)
    assert (bounds.max_drift, bounds.disorder) == (10_000, 5_000)


def test_short_delay_is_warned_of_again_once_the_need_has_doubled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    short = DelayCheck()
    for disorder in (0, 1_000, 2_000, 9_999, 10_000, 11_000):
        short.warn(
            10_500,
            Bounds(max_drift=20_000 if disorder >= 10_000 else 10_000, idle_timeout=0, disorder=disorder),
            in_payload=True,
        )
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition("Make")[2] for line in lines] == [
        ' the delay at least "11 seconds", or max_drift at most "9 seconds 500 milliseconds"',
        ' the delay at least "30 seconds"; max_drift must stay above max_out_of_orderness (10 s)',
    ]
    assert "in addition to an out-of-orderness of 1 s in the payload" in lines[0]


def test_short_delay_warning_has_both_figures_and_both_remedies(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = told(caplog, RunInMemory(found=[on(KAFKAS, minutes=5)]), max_drift="10 minutes")
    assert "delay is 5 min, and max_drift is 10 min" in said
    assert 'delay at least "10 minutes", or max_drift at most "5 minutes"' in said


def test_a_delay_within_the_disorder_cannot_be_mended_by_the_drift(caplog: pytest.LogCaptureFixture) -> None:
    said = told(caplog, RunInMemory(found=[on(KAFKAS, minutes=1)]), max_out_of_orderness="2 minutes")
    assert "max_drift must stay above max_out_of_orderness (2 min)" in said


def test_idle_timeout_beyond_the_delay_brings_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert "delay" not in told(caplog, RunInMemory(found=[on(KAFKAS, minutes=5)]), idle_timeout="4 hours")


@pytest.mark.parametrize(
    ("found", "highest", "offered"),
    [
        ([on(KAFKAS), on(KAFKAS)], False, True),
        ([on(KAFKAS), on(KAFKAS)], True, False),
        ([on(KAFKAS)], False, False),
        ([on(KAFKAS), on(FOREIGN)], False, False),
        ([on(KAFKAS), on(KAFKAS, minutes=1)], False, False),
    ],
)
def test_the_policy_max_is_offered_where_it_loses_nothing(
    caplog: pytest.LogCaptureFixture, found: list[QueryWatermark], highest: bool, offered: bool
) -> None:
    assert ("multipleWatermarkPolicy=max" in told(caplog, RunInMemory(found=found, highest=highest))) == offered


# -- the event time --


@pytest.mark.parametrize(("origin", "payload"), [(PARSED, False), (KAFKAS, True)])
def test_watermark_on_another_event_time_is_refused_with_advice(origin: Origin, payload: bool) -> None:
    with pytest.raises(UnsupportedQuery, match=r'withWatermark\("ts", …\) uses .*event_time.*other_event_time="warn"'):
        check_event_time(RunInMemory(found=[on(origin)]), [payload], Alignment())


@pytest.mark.parametrize("alignment", [Alignment(other_event_time="warn"), Alignment(mode="observe")])
def test_another_event_time_is_warned_of_by_choice_and_in_a_dry_run(
    alignment: Alignment, caplog: pytest.LogCaptureFixture
) -> None:
    check_event_time(RunInMemory(found=[on(PARSED)]), [False], alignment)
    assert "uses from_json(value).ts, but lockgate aligns by Kafka's record timestamp" in caplog.text


@pytest.mark.parametrize(("origin", "payload"), [(KAFKAS, False), (PARSED, True), (FOREIGN, True)])
def test_a_watermark_on_what_is_aligned_is_accepted(
    origin: Origin, payload: bool, caplog: pytest.LogCaptureFixture
) -> None:
    check_event_time(RunInMemory(found=[on(origin)]), [payload], Alignment())
    assert caplog.text == ""

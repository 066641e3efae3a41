"""The lines in the log of a query that waits: one at the beginning of a wait, one at its end."""

import logging
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import Blocker, SourcePause, WatermarkAlignmentEvent
from lockgate_spark.telemetry.waits import (
    LOGGED_AFTER_S,
    LOGGED_AGAIN_AFTER_S,
    Wait,
    Waits,
    for_coordinator,
    for_group,
    for_operator,
    for_split,
    for_window,
    sentence,
)

MINUTE = 60_000
LOWEST = Blocker(source="peer", subtask=0, watermark=0, split="p-3")
PEER = WatermarkAlignmentEvent(
    group="g", revision=1, group_watermark=0, max_desired_watermark=MINUTE, blocked_by=(LOWEST,)
)
GROUP = for_group("g", PEER, 4 * MINUTE)
COORDINATOR = for_coordinator(PEER)
SPLIT = for_split("a-1", "has been silent since 12:00:00 UTC, its producer may be 2 min late", MINUTE)
WINDOW = for_window(60 * MINUTE)
BRIEF = for_split("a-1", "has received no records yet, and is watched for some seconds", MIN, brief=True)


@dataclass
class Clock:
    s: float = 0.0

    def __call__(self) -> float:
        return self.s


def played(
    caplog: pytest.LogCaptureFixture, *looks: Wait | None, step: float = 1.0, target: int | None = None
) -> Waits:
    """What comes of these looks, a second apart."""
    caplog.set_level("INFO", "lockgate")
    caplog.clear()
    clock = Clock()
    waits = Waits("orders", clock)
    for look in looks:
        waits.seen(look, target)
        clock.s += step
    return waits


@pytest.mark.parametrize(
    ("wait", "begins", "ends"),
    [
        (
            GROUP,
            "orders waits for its group g: blocked by peer/0 (partition p-3) at 1970-01-01T00:00:00.000Z, "
            "4 min below the next record here. Nothing above the group's read limit, 1970-01-01T00:01:00.000Z, is "
            "read meanwhile",
            "its group g",
        ),
        (
            COORDINATOR,
            "orders waits for the coordinator: it does not answer, and nothing above its last read limit, "
            "1970-01-01T00:01:00.000Z, is read meanwhile",
            "the coordinator",
        ),
        (
            SPLIT,
            "orders waits for partition a-1: a-1 has been silent since 12:00:00 UTC, its producer may be 2 min late. "
            "Records above 1970-01-01T00:01:00.000Z are read once no older one can come from it",
            "partition a-1",
        ),
        (
            WINDOW,
            "orders waits for the next whole window: the one that ends at 1970-01-01T01:00:00.000Z is still open. It "
            "is read as a whole, once no partition can bring another record of it",
            "the next whole window",
        ),
    ],
)
def test_a_wait_that_lasts_is_logged_once_and_its_end_once(
    caplog: pytest.LogCaptureFixture, wait: Wait, begins: str, ends: str
) -> None:
    played(caplog, *[wait] * 182, None, None, target=3 * MINUTE)
    assert caplog.messages == [begins, f"orders waited 3 min 2 s for {ends}, and reads on to 1970-01-01T00:03:00.000Z"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2, (
        "seen without a configuration of logs"
    )


def test_a_wait_of_a_moment_is_worth_no_line(caplog: pytest.LogCaptureFixture) -> None:
    played(caplog, *[GROUP, GROUP, None] * 9)
    assert caplog.messages == []


def test_a_wait_that_ends_by_itself_within_seconds_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    played(caplog, *[BRIEF] * 5, None)
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    assert "MIN" not in caplog.text


def test_waits_batch_after_batch_are_logged_again_only_if_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    played(caplog, *([GROUP] * 10 + [None]) * 20)
    assert len(caplog.messages) == 2
    played(caplog, *[GROUP] * 10, None, *[GROUP] * 40, None)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO", "INFO"]


def test_wait_for_the_first_answer_logs_the_outage_line_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    played(caplog, *[for_coordinator(None)] * 12, None)
    assert caplog.messages == ["orders waited 12 s for the coordinator, and has nothing left to read"]


def test_a_wait_that_becomes_another_one_ends_and_the_other_begins(caplog: pytest.LogCaptureFixture) -> None:
    played(caplog, *[GROUP] * 10, *[COORDINATOR] * 10, None)
    assert [message.split(":")[0] for message in caplog.messages] == [
        "orders waits for its group g",
        "orders waited 10 s for its group g, and now waits for the coordinator",
        "orders waits for the coordinator",
        "orders waited 10 s for the coordinator, and has nothing left to read",
    ]


def test_a_run_that_ends_while_it_waits_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    waits = played(caplog, *[GROUP] * 10)
    waits.close()
    waits.close()
    assert caplog.messages[1:] == ["orders waited 10 s for its group g, and the run ends"]
    assert waits.present is None


def test_the_status_has_the_same_words_as_the_line(caplog: pytest.LogCaptureFixture) -> None:
    waits = played(caplog, *[GROUP] * 60)
    assert waits.present == (GROUP, 60.0)
    assert sentence("orders", GROUP, 0.0) == f"{caplog.messages[0]}."
    assert sentence("The query", GROUP, 59.0).startswith(
        "The query waits for its group g (for 59 s so far): blocked by"
    )


def test_readers_that_have_not_reported_and_many_that_hold_are_words_too() -> None:
    assert for_group("g", None, 0).why == "not all of its queries have reported yet"
    many = tuple(Blocker(source="s", subtask=subtask, watermark=0) for subtask in range(9))
    event = WatermarkAlignmentEvent(
        group="g", revision=1, group_watermark=0, max_desired_watermark=MAX, blocked_by=many
    )
    assert "and 6 more, 1 min below the next record here" in for_group("g", event, MINUTE).why
    assert not re.search(r"MIN|MAX|\d{10}", for_group("g", event, None).why + for_split("a", "x", MIN).why)


@given(
    st.lists(st.tuples(st.sampled_from([None, GROUP, COORDINATOR, SPLIT, WINDOW]), st.floats(0.05, 90)), max_size=60)
)
def test_each_logged_wait_has_one_line_at_its_beginning_and_one_at_its_end(
    looks: list[tuple[Wait | None, float]],
) -> None:
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("lockgate")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        clock = Clock()
        waits = Waits("orders", clock)
        runs: list[tuple[str, float]] = []  # the waits, each with how long it was seen to last
        last, since = None, 0.0
        for look, seconds in looks:
            kind = None if look is None else look.kind
            if kind != last:
                last, since = kind, clock.s
                if kind is not None:
                    runs.append((kind, 0.0))
            elif kind is not None:
                runs[-1] = (kind, clock.s - since)
            waits.seen(look)
            clock.s += seconds
        waits.close()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    begun = [record for record in records if record.startswith("orders waits for")]
    ended = [record for record in records if record.startswith("orders waited")]
    assert len(begun) == len(ended) == len(records) / 2
    assert records[::2] == begun, "the two alternate"
    assert len(begun) <= sum(lasted >= LOGGED_AFTER_S for _, lasted in runs)
    assert len(begun) >= sum(lasted >= LOGGED_AGAIN_AFTER_S for _, lasted in runs), "a long wait is never silent"


@pytest.mark.parametrize(
    ("pause", "said"),
    [
        (
            SourcePause(source="a", at=0, by="ops", reason="the sink is away"),
            "orders waits for an operator: operator ops paused it at "
            '1970-01-01T00:00:00.000Z: "the sink is away". '
            "To let it read on: lockgate resume g a.",
        ),
        (
            SourcePause(source="a", at=0),
            "orders waits for an operator: an operator paused it at 1970-01-01T00:00:00.000Z. "
            "To let it read on: lockgate resume g a.",
        ),
    ],
)
def test_query_paused_by_an_operator_shows_who_when_and_how_to_resume(pause: SourcePause, said: str) -> None:
    assert sentence("orders", for_operator("g", pause), 0.0) == said


def test_an_operator_s_reason_steers_no_terminal() -> None:
    pause = SourcePause(source="a", at=0, reason="\x1b]52;c;eA==\x07\n")
    assert sentence("orders", for_operator("g", pause), 0.0).isprintable()

"""What is kept of producers over restarts: a run that ends at any moment, and files that this
release cannot have written.
"""

import json
import logging

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockgate.plan.producer_lag import ProducerLag, Shown
from lockgate_spark.planning import startup_grace
from lockgate_spark.planning.kept_lags import KeptLags
from support.broken_texts import broken
from support.live_world import HOUR, MINUTE, SECOND, START, Feed, World, lags, nothing
from support.runs import RunInMemory, TwoTexts

KEY = (0, "a-1")


@pytest.fixture(autouse=True, scope="module")
def _short_care() -> "pytest.FixtureRequest":
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(startup_grace, "WATCH_S", 1.0)
        patch.setattr(startup_grace, "SHORT_WATCH_S", 0.3)
        yield


# -- a run that ends at any moment --


def slows_down(every: int, by: int) -> Feed:
    """`by` ms behind the clock: a record a second in the first minute, then one each so many."""
    return lambda now: [now - by] if now <= START + MINUTE or now // SECOND % every == 0 else []


@settings(max_examples=25, deadline=None)
@example(every=15, by=3 * HOUR, runs=[(60, 2, False)])
@example(every=25, by=3 * HOUR, runs=[(40, 9, True)])
@given(
    every=st.sampled_from([8, 15, 25]),
    by=st.sampled_from([25 * SECOND, 10 * MINUTE, 3 * HOUR]),
    runs=st.lists(
        st.tuples(st.integers(5, 90), st.sampled_from([0, 2, 9, 40, 70, 600]), st.booleans()), min_size=1, max_size=3
    ),
)
def test_what_a_run_would_have_kept_a_restarted_one_keeps(
    every: int, by: int, runs: list[tuple[int, int, bool]]
) -> None:
    """Runs of so many seconds; the next one begins so many seconds after it; killed or stopped."""
    ago = range(START - 4 * HOUR, START, 30 * SECOND)
    before = {"a-0": list(ago), "a-1": [at for at in ago if at < START - by]}
    world = World(slows_down(every, by), before=before).play(90)
    for seconds, away_s, killed in runs:
        world.play(seconds).restart(away_s * SECOND, killed)
    world.play(90)
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.position["a-1"] > 60


def test_a_lag_is_kept_as_soon_as_it_has_grown() -> None:
    def stalls(now: int) -> list[int]:
        """On time, then nothing for a while, and from then on behind by that."""
        made = now if now < START + 100 * SECOND else now - 40 * SECOND
        return [made] if not START + 100 * SECOND <= made + 40 * SECOND < START + 140 * SECOND else []

    runs_on, killed = (World(stalls).play(90).restart().play(55) for _ in range(2))
    lost = runs_on.play(120).late["a-1"]
    assert lost > 0, "the first ones are further behind than their producer had ever been"
    assert killed.restart(3 * SECOND, killed=True).play(120).late["a-1"] == lost


@pytest.mark.parametrize("silent_meanwhile", [True, False])
def test_an_aged_memory_begins_as_carefully_as_none(silent_meanwhile: bool) -> None:
    begins = START + 4 * HOUR

    def lags_by_25_s(now: int) -> list[int]:
        silent = silent_meanwhile and START + 80 * SECOND < now < begins
        return [] if silent else [now - 25 * SECOND]

    world = World(lags_by_25_s).play(90)
    world.restart(begins - world.now - SECOND).play(60)
    assert world.late == {"a-0": 0, "a-1": 0}


# -- files that this release cannot have written --


def whole(number: int = 7) -> dict[str, object]:
    lag = ProducerLag(HOUR, Shown(known=True, shown=30_000, shown_at=START - MINUTE, end=3, looked_at=START - MINUTE))
    return {"format": 1, "number": number, "splits": {"0": {"a-0": list(lag.state), "a-1": list(lag.state)}}}


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "in <checkpoint>/lockgate" in record.getMessage()]


FILES: list[str] = [
    "",
    "nothing",
    "[]",
    "null",
    "[" * 100_000,
    "9" * 5_000,
    json.dumps({"number": 3, "splits": {"0": {"a-1": [1, 2]}}}),
    json.dumps({**whole(), "more": 1}),
    json.dumps({**whole(), "format": 2}),
    json.dumps({**whole(), "number": True}),
    json.dumps({**whole(), "splits": {"0": {"a-1": [*whole()["splits"]["0"]["a-1"], 0]}}}),  # type: ignore[index]
    json.dumps({**whole(), "splits": {"0": {"a-1": [True, 10**18, *whole()["splits"]["0"]["a-1"][2:]]}}}),  # type: ignore[index]
]


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
@pytest.mark.parametrize("both", [True, False])
def test_an_unreadable_file_is_forgotten_with_one_warning_and_rewritten(
    text: str, both: bool, caplog: pytest.LogCaptureFixture
) -> None:
    run = RunInMemory()
    kept = run.memory("lags-")
    kept.texts = {0: text, 1: text if both else json.dumps(whole())}  # type: ignore[attr-defined]
    World(nothing, run=run).play(30).session.close()
    assert len(warned(caplog)) == 1
    assert "ignoring an unreadable file" in warned(caplog)[0]
    caplog.clear()
    again = KeptLags(kept, START + 30 * SECOND)
    assert warned(caplog) == []
    assert again.of(KEY).known


@settings(max_examples=100, deadline=None)
@given(st.lists(broken(whole(), [START, START + 1000 * HOUR], ["0", "a-0", "a-1"]), min_size=1, max_size=2))
def test_no_broken_file_stops_a_query_or_lets_it_read_nothing(texts: list[str]) -> None:
    logging.disable(logging.WARNING)
    try:
        run = RunInMemory()
        run.memory("lags-").texts = dict(enumerate(texts))  # type: ignore[attr-defined]
        world = World(lags(0), run=run, before={"a-0": [START] * 3, "a-1": [START] * 3}).play(30)
        assert world.position["a-0"] > 3
        world.restart().play(5)
        assert world.position["a-0"] > 25
    finally:
        logging.disable(logging.NOTSET)


def test_a_file_system_that_reads_nothing_is_warned_of_once_and_written_to(caplog: pytest.LogCaptureFixture) -> None:
    class Unread(TwoTexts):
        def read(self) -> list[str]:
            raise OSError("no such host")

    run = RunInMemory(memories={"lags-": Unread()})
    World(nothing, run=run).play(30).session.close()
    assert len(warned(caplog)) == 1
    assert run.memories["lags-"].texts


def test_the_later_of_two_files_counts_and_a_cut_off_one_leaves_the_other() -> None:
    kept = TwoTexts()
    older, newer = whole(6), whole(7)
    older["splits"] = {}
    kept.texts = {0: json.dumps(older), 1: json.dumps(newer)}
    assert KeptLags(kept, START).of(KEY).shown == 30_000
    kept.texts[0] = json.dumps(newer)[:-9]
    assert KeptLags(kept, START).of(KEY).shown == 30_000

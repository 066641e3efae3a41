"""Event-time timers."""

from hypothesis import given
from hypothesis import strategies as st

from lockgate.flink.propagation.timers import EventTimer, EventTimers
from lockgate.watermark import MAX

TIMERS = st.builds(EventTimer, st.integers(0, 20), st.sampled_from("ab"), st.sampled_from(["x", None]))
STEPS = st.lists(
    st.tuples(st.sampled_from(["set", "delete"]), TIMERS) | st.tuples(st.just("advance"), st.integers(0, 20)),
    max_size=60,
)


@given(STEPS)
def test_due_timers_fire_in_order_each_once_and_deleted_ones_never(steps: list[tuple[str, object]]) -> None:
    fired: list[EventTimer] = []
    timers = EventTimers(fired.append)
    pending: dict[EventTimer, None] = {}
    for what, argument in steps:
        if isinstance(argument, EventTimer):
            getattr(timers, what)(argument)
            if what == "set":
                pending.setdefault(argument)
            else:
                pending.pop(argument, None)
            continue
        fired.clear()
        timers.advance(int(str(argument)))
        due = sorted(
            (timer for timer in pending if timer.timestamp <= timers.watermark), key=lambda timer: timer.timestamp
        )
        assert fired == due
        for timer in due:
            del pending[timer]
    assert len(timers) == len(pending)


def test_a_timer_set_by_another_one_fires_in_the_same_round_if_it_is_due() -> None:
    fired: list[int] = []

    def fire(timer: EventTimer) -> None:
        fired.append(timer.timestamp)
        timers.set(EventTimer(timer.timestamp + 10))

    timers = EventTimers(fire)
    timers.set(EventTimer(5))
    timers.advance(30)
    assert fired == [5, 15, 25]


def test_a_timer_for_the_end_of_time_fires_at_the_end_of_input() -> None:
    fired: list[EventTimer] = []
    timers = EventTimers(fired.append)
    timers.set(EventTimer(MAX))
    timers.advance(MAX - 1)
    assert fired == []
    timers.advance(MAX)
    assert fired == [EventTimer(MAX)]

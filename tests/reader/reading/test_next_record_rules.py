"""A split whose records have no event time: when it holds the others, and when it does not."""

from lockgate.flink.clocks import RelativeClock
from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MIN
from lockgate_reader.reading.next_record import HandedOut, NextRecord


class _StandsStill(RelativeClock):
    def relative_nanos(self) -> int:
        return 0


class Heard:
    """What a generator has emitted."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.said.append(timestamp)

    def mark_idle(self) -> None:
        self.said.append("idle")

    def mark_active(self) -> None:
        self.said.append("active")


def said_after(generator: NextRecord, *times: int) -> object:
    heard = Heard()
    if times:
        generator.on_event(HandedOut(times, times, max(times)), max(times), heard)
    generator.on_periodic_emit(heard)
    return heard.said[-1]


def generator(*, silent: list[bool], lets_go: bool = True) -> NextRecord:
    made = NextRecord(WatermarkStrategy.for_monotonous_timestamps(), _StandsStill())
    made.silent, made.lets_go = lambda: silent[0], lets_go
    return made


def test_a_split_without_event_times_holds_until_it_is_read_to_its_end_and_then_not_again() -> None:
    silent = [False]
    split = generator(silent=silent)
    assert said_after(split, NO_TIMESTAMP) == MIN
    silent[0] = True
    assert said_after(split) == "idle"
    silent[0] = False
    assert said_after(split, NO_TIMESTAMP, NO_TIMESTAMP) == "idle"


def test_a_split_that_was_let_go_counts_again_with_its_first_event_time() -> None:
    split = generator(silent=[True])
    assert said_after(split, NO_TIMESTAMP) == "idle"
    assert said_after(split, 70, NO_TIMESTAMP) == 69
    assert said_after(split, NO_TIMESTAMP) == 69


def test_a_record_that_is_kept_back_ends_the_idleness_of_a_split_that_was_let_go() -> None:
    split, heard = generator(silent=[True]), Heard()
    assert said_after(split, NO_TIMESTAMP) == "idle"
    split.on_event(HandedOut((), (), kept_back="record", kept_back_time=70), NO_TIMESTAMP, heard)
    assert said_after(split) == 69


def test_an_empty_split_and_one_with_a_horizon_are_left_to_their_strategy() -> None:
    assert said_after(generator(silent=[True])) == MIN
    assert said_after(generator(silent=[True], lets_go=False), NO_TIMESTAMP) == MIN

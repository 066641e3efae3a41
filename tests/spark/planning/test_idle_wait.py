"""A query that has read everything waits for the broker, and asks it nothing."""

from lockgate_spark import Alignment
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, SourceInMemory

T0 = 1_767_225_600_000


class Ticks:
    """A monotonic clock that stands still until a test moves it: a plan holds for a moment, and
    machines pause for longer.
    """

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def idle(*sources: SourceInMemory, ticks: Ticks | None = None) -> AlignedRun:
    """A run that has read what there is: one record a source."""
    one = AlignedRun(Alignment(), RunInMemory(), clock=lambda: T0 / 1000 + 86_400, ticks=ticks or Ticks())
    for i, source in enumerate(sources):
        one.add(i, source)
    for position in (0, 1):
        for i, source in enumerate(sources):
            one.latest_offset(i, dict.fromkeys(source.records, position))
    return one


def test_the_broker_is_left_alone_until_a_record_comes_in_any_source() -> None:
    a, b = SourceInMemory({"a-0": [T0]}), SourceInMemory({"b-0": [T0]})
    one = idle(a, b)
    asked = a.log.requests.made
    assert one.latest_offset(0, {"a-0": 1}) == {"a-0": 1}
    assert a.log.requests.made == asked
    b.records["b-0"].append(T0 + 1)
    one.latest_offset(0, {"a-0": 1})
    assert one.latest_offset(1, {"b-0": 1}) == {"b-0": 2}


def test_a_new_partition_is_seen_within_a_second() -> None:
    a, ticks = SourceInMemory({"a-0": [T0]}), Ticks()
    one = idle(a, ticks=ticks)
    # a new partition is nothing to wait for
    a.comes = lambda ends, seconds: False  # type: ignore[method-assign]
    a.records["a-1"] = [T0]
    assert one.latest_offset(0, {"a-0": 1}) == {"a-0": 1}
    ticks.now += 1
    assert one.latest_offset(0, {"a-0": 1}) == {"a-0": 1, "a-1": 1}


def test_idle_sources_share_the_wait() -> None:
    waited: list[float] = []
    a, b = SourceInMemory({"a-0": [T0]}), SourceInMemory({"b-0": [T0]})
    one = idle(a, b)
    for source in (a, b):
        source.comes = lambda ends, seconds: bool(waited.append(seconds))  # type: ignore[method-assign]
    one.latest_offset(0, {"a-0": 1})
    assert len(waited) == 2
    assert sum(waited) <= 0.1

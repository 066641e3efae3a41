"""What a query does that has read everything: it waits for the broker, and asks it nothing."""

from types import SimpleNamespace

import pytest

from lockgate_spark import Alignment
from lockgate_spark.planning.session import Session
from support.runs import RunInMemory, SourceInMemory

T0 = 1_767_225_600_000


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock, which stands still until it is set on: what was found is good for a
    moment, and machines pause for longer.
    """
    now = [1_000.0]
    monkeypatch.setattr("lockgate_spark.planning.session.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def idle(*sources: SourceInMemory) -> Session:
    """A session that has read what there is: one record a source."""
    one = Session(Alignment(), RunInMemory(), clock=lambda: T0 / 1000 + 86_400)
    for i, source in enumerate(sources):
        one.add(i, source)
    for position in (0, 1):
        for i, source in enumerate(sources):
            one.latest_offset(i, dict.fromkeys(source.records, position), None)
    return one


def test_the_broker_is_left_alone_until_a_record_comes_in_any_source() -> None:
    a, b = SourceInMemory({"a-0": [T0]}), SourceInMemory({"b-0": [T0]})
    one = idle(a, b)
    asked = a.log.look_ups
    assert one.latest_offset(0, {"a-0": 1}, None) == {"a-0": 1}
    assert a.log.look_ups == asked
    b.records["b-0"].append(T0 + 1)
    one.latest_offset(0, {"a-0": 1}, None)
    assert one.latest_offset(1, {"b-0": 1}, None) == {"b-0": 2}


def test_what_only_a_new_look_shows_is_seen_within_a_second(seconds: list[float]) -> None:
    a = SourceInMemory({"a-0": [T0]})
    one = idle(a)
    # a new partition is nothing to wait for
    a.comes = lambda ends, seconds: False  # type: ignore[method-assign]
    a.records["a-1"] = [T0]
    assert one.latest_offset(0, {"a-0": 1}, None) == {"a-0": 1}
    seconds[0] += 1
    assert one.latest_offset(0, {"a-0": 1}, None) == {"a-0": 1, "a-1": 1}


def test_sources_that_rest_share_the_wait() -> None:
    waited: list[float] = []
    a, b = SourceInMemory({"a-0": [T0]}), SourceInMemory({"b-0": [T0]})
    one = idle(a, b)
    for source in (a, b):
        source.comes = lambda ends, seconds: bool(waited.append(seconds))  # type: ignore[method-assign]
    one.latest_offset(0, {"a-0": 1}, None)
    assert len(waited) == 2
    assert sum(waited) <= 0.1

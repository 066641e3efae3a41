"""The proxy before Spark's own Kafka source, with the Java object alone replaced."""

from types import SimpleNamespace

import pytest

from lockgate_spark.jvm.failures import Selected
from lockgate_spark.jvm.stream import Stream

NOW_S, ASKED_S = 1_767_225_600, 600


def test_available_now_reads_the_clock_before_spark_asks_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # A record may come while Kafka is asked: with a later time its producer would be taken to have
    # been heard out.
    clock = [NOW_S]
    calls: list[str] = []

    def asks() -> None:
        calls.append("prepareForTriggerAvailableNow")
        clock[0] += ASKED_S

    monkeypatch.setattr("lockgate_spark.jvm.stream.time", SimpleNamespace(time=lambda: clock[0]))
    stream = object.__new__(Stream)  # what it needs besides comes from a running JVM
    stream._java = SimpleNamespace(prepareForTriggerAvailableNow=asks)
    stream.prepareForTriggerAvailableNow()
    assert calls == ["prepareForTriggerAvailableNow"]
    assert stream.fixed_at == NOW_S * 1000


@pytest.mark.parametrize(("active", "told"), [(False, ""), (True, "planning failed: KeyError: 't-0'")])
def test_failed_plan_during_query_stop_is_a_stop_and_else_an_error(active: bool, told: str) -> None:
    def closed(*_: object) -> None:
        raise KeyError("t-0")

    stream = object.__new__(Stream)
    stream._index, stream._watch = 0, SimpleNamespace(topics=None)
    stream.budget = stream._least = None
    stream.selected = Selected("b:9092", "subscribe", "t")
    stream._aligned = SimpleNamespace(  # type: ignore[assignment]
        run=SimpleNamespace(is_active=lambda: active), alignment=SimpleNamespace(mode="align"), latest_offset=closed
    )
    assert stream.apply("latestOffset", '{"t": {"0": 5}}') == told

"""The proxy before Spark's own Kafka source, with the Java object alone replaced."""

from types import SimpleNamespace

import pytest

from lockgate_spark.jvm.stream import Stream

NOW_S, ASKED_S = 1_767_225_600, 600


def test_under_available_now_the_clock_is_read_before_spark_asks_for_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
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

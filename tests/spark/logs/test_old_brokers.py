"""Brokers that do not support look-ups of the highest timestamp: a real one behind a proxy that
caps the versions of ListOffsets.
"""

import pytest

from lockgate_testbed.kafka import KafkaBroker
from support.ends import look
from support.old_brokers import OldBroker
from support.real_logs import Open, append, at, fill, heads, starts


def test_where_brokers_know_no_highest_timestamp_the_last_records_are_read(
    open_log: Open, kafka: KafkaBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lockgate")
    ends = fill(kafka, topic, p0=[0, 10, 20], p1=[])
    with OldBroker(kafka) as old:
        log = open_log(bootstrap__servers=old.bootstrap)
        log.set_splits(ends)
        assert log.highest(ends) == {f"{topic}-0": at(20)}
        append(kafka, topic, p0=[30], p1=[5])
        log.remember_plan({})
        ends = {split: end + 1 for split, end in ends.items()}
        look(log, 1, starts(ends), ends)
        assert log.highest(ends) == {f"{topic}-0": at(30), f"{topic}-1": at(5)}
        assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0), p1=(0, 5))
        assert log.first_after(at(5), starts(ends), ends) == heads(topic, p0=(1, 10)), "look-ups of other times go on"
    (said,) = (record.getMessage() for record in caplog.records if record.name == "lockgate")
    assert "do not support look-ups of the highest timestamp" in said

"""When a split of which nothing comes is worth an alarm."""

import logging
from collections.abc import Mapping

import pytest

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate_reader.place import AssignedSplit, Key
from lockgate_reader.reading.logs import QUIET_MS, Logs
from lockgate_reader.reading.split import OpenSplit


class Kafka:
    """What was to be fetched again."""

    def __init__(self) -> None:
        self.again: list[dict[Key, int]] = []

    def refetch(self, starts: Mapping[Key, int]) -> None:
        self.again.append(dict(starts))


def split() -> OpenSplit:
    assigned = AssignedSplit(KafkaPartitionSplit("t", 0), 1)
    return OpenSplit(assigned, 7, None, WatermarkStrategy.for_monotonous_timestamps())


def watched(kafka: Kafka) -> Logs:
    return Logs(kafka, ["t"], 0, None)  # type: ignore[arg-type]


def alarms(quiet: Logs, one: OpenSplit, until_ms: int, empty_every_ms: int = 100) -> int:
    times = range(0, until_ms + 1, 100)
    return sum(len(quiet.refetch_quiet([one], now, now - now % empty_every_ms)) for now in times)


def test_quiet_split_raises_an_alarm_and_is_fetched_again(caplog: pytest.LogCaptureFixture) -> None:
    kafka, one = Kafka(), split()
    assert alarms(watched(kafka), one, 2 * QUIET_MS) == 2
    assert kafka.again == [{("t", 0): 7}] * 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "nothing of t-0 at offset 7 for 30 s" in caplog.text


def test_split_that_is_read_to_its_end_or_paused_or_moves_is_not_quiet() -> None:
    for change in ("end", "paused", "moves"):
        quiet, one = watched(Kafka()), split()
        for now in range(0, 2 * QUIET_MS, 100):
            if change == "end":
                one.confirm_end(7, (now, now))
            elif change == "paused":
                one.paused = True
            else:
                one.go_to(now)
            assert quiet.refetch_quiet([one], now, now) == []


def test_records_that_may_come_behind_others_are_no_alarm() -> None:
    assert alarms(watched(Kafka()), split(), 4 * QUIET_MS, empty_every_ms=QUIET_MS // 2) == 0

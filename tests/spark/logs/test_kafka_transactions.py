"""The split logs of transactional topics: what is not committed yet, what was aborted, and markers,
which are no records.
"""

import struct
import time

import pytest
from confluent_kafka import Producer

from lockgate.watermark import MIN
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.ends import look
from support.real_logs import Open, at, heads, starts
from support.transactions import send_to, transactional


@pytest.fixture
def transactions(kafka: KafkaBroker, topic: str) -> Producer:
    """A producer for a topic with one partition."""
    return transactional(kafka, topic, 1)


def written(log: KafkaSplitLog, ends: Offsets) -> None:
    """Waits for the last transaction's marker: Kafka says that it is committed before that is
    there.
    """
    wait_for(lambda: log.requests.uncommitted_ends() == ends)


def send(producer: Producer, topic: str, *seconds: int) -> None:
    send_to(producer, topic, 0, map(at, seconds))


def test_open_transaction_stops_known_until_until_its_commit(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    split = f"{topic}-0"
    log = open_log(isolation__level="read_committed")
    log.set_splits([split])

    def look(now: int, end: int) -> int:
        log.note_ends(now, {split: 0}, {split: end}, log.requests.uncommitted_ends())
        return log.learned[split].known_until

    assert look(1_000, 0) == 1_000
    transactions.begin_transaction()
    send(transactions, topic, 10)
    assert look(2_000, 0) == 1_000
    assert look(3_000, 0) == 1_000
    transactions.commit_transaction(30)
    written(log, {split: 2})
    assert look(4_000, 2) == 4_000, "a record and the marker"


def test_without_isolation_an_open_transaction_hides_nothing(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    split = f"{topic}-0"
    log = open_log()
    log.set_splits([split])
    transactions.begin_transaction()
    send(transactions, topic, 10)
    assert log.requests.uncommitted_ends() == {split: 1}
    look(log, 2_000, {split: 0}, {split: 1})
    assert log.learned[split].known_until == 2_000
    transactions.abort_transaction(30)


def test_what_was_never_seen_is_known_until_min(open_log: Open, transactions: Producer, topic: str) -> None:
    split = f"{topic}-0"
    log = open_log(isolation__level="read_committed")
    log.set_splits([split])
    transactions.begin_transaction()
    send(transactions, topic, 10)
    log.note_ends(2_000, {split: 0}, {split: 0}, log.requests.uncommitted_ends())
    assert log.learned[split].known_until == MIN
    transactions.abort_transaction(30)


def test_a_range_that_holds_markers_only_is_passed_over_and_not_waited_for(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    transactions.begin_transaction()
    send(transactions, topic, 10, 20)
    transactions.commit_transaction(30)
    log, ends = open_log(isolation__level="read_committed"), {f"{topic}-0": 3}
    log.set_splits(ends)
    written(log, ends)
    assert log.heads({f"{topic}-0": 1}, ends) == heads(topic, p0=(1, 20))
    assert log.heads({f"{topic}-0": 2}, ends) == {}
    assert log.first_after(at(15), {f"{topic}-0": 2}, ends) == {}


def commit_in_turns(producer: Producer, topic: str, *transactions: range) -> Offsets:
    """Records of long ago (s after T0), with a marker of now behind each transaction; gives the
    end.
    """
    for seconds in transactions:
        producer.begin_transaction()
        send(producer, topic, *seconds)
        producer.commit_transaction(30)
    return {f"{topic}-0": sum(len(seconds) + 1 for seconds in transactions)}


def test_a_marker_in_what_was_sampled_is_no_record_and_hides_none(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    ends = commit_in_turns(transactions, topic, range(10), range(10, 20), range(20, 30))
    log = open_log()
    log.set_splits(ends)
    written(log, ends)
    log.sample(starts(ends), ends)
    assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0))
    for second, offset in ((5, 6), (12, 14), (9, 11), (19, 22), (28, 31)):
        assert log.first_after(at(second), starts(ends), ends) == heads(topic, p0=(offset, second + 1))
    assert log.first_after(at(29), starts(ends), ends) == {}
    assert log.highest(ends) == {f"{topic}-0": at(29)}, "and not the marker's, which is of now"


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_highest_time_is_of_a_record_and_a_commit_costs_one_read(
    open_log: Open, transactions: Producer, topic: str, isolation: str
) -> None:
    log, split, read = open_log(isolation__level=isolation), f"{topic}-0", []
    log.set_splits([split])
    for turn in range(4):
        end = commit_in_turns(transactions, topic, range(10 * turn, 10 * turn + 10))[split] * (turn + 1)
        written(log, {split: end})
        for _ in range(2):
            look(log, 1, {split: end}, {split: end})
            asked = log.requests.made
            assert log.highest({split: end}) == {split: at(10 * turn + 9)}
            log.remember_plan({})
            read.append(log.requests.made - asked)
    assert read[2:] == [1, 0] * 3


@pytest.mark.parametrize(("isolation", "highest"), [("read_committed", 10), ("read_uncommitted", 30)])
def test_an_aborted_or_open_transaction_counts_where_its_records_are_shown(
    open_log: Open, transactions: Producer, topic: str, isolation: str, highest: int
) -> None:
    commit_in_turns(transactions, topic, range(11))
    transactions.begin_transaction()
    send(transactions, topic, 20)
    transactions.abort_transaction(30)
    transactions.begin_transaction()
    send(transactions, topic, 30)
    log, split = open_log(isolation__level=isolation), f"{topic}-0"
    log.set_splits([split])
    written(log, {split: 15})
    ends = {split: 14 if isolation == "read_committed" else 15}
    look(log, 1, starts(ends), ends)
    assert log.highest(ends) == {split: at(highest)}
    transactions.abort_transaction(30)


def test_records_at_which_a_plan_stops_are_checked_for_markers_once(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    minutes = (range(0, 600, 60), range(600, 1_200, 60))
    ends = commit_in_turns(transactions, topic, *minutes)
    log, split = open_log(), f"{topic}-0"
    log.set_splits(ends)
    written(log, ends)
    log.heads(starts(ends), ends)
    record, marker = (log.first_after(at(60 * minute), starts(ends), ends) for minute in (5, 12))
    assert (record[split].offset, marker[split].offset) == (6, 10), "what Kafka says"
    asked = log.requests.made
    assert [log.confirm(at(300), record, ends) for _ in range(2)] == [True, True]
    assert log.requests.made == asked + 1
    assert not log.confirm(at(720), marker, ends)
    assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0))
    assert log.first_after(at(720), starts(ends), ends) == heads(topic, p0=(14, 780))
    asked = log.requests.made
    assert log.confirm(at(2), log.first_after(at(720), starts(ends), ends), ends)
    assert log.requests.made == asked + 1, "what was read needs no other look"


def test_a_sample_does_not_wait_for_a_range_that_holds_markers_only(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    transactions.begin_transaction()
    send(transactions, topic, 0)
    transactions.commit_transaction(30)
    log = open_log(isolation__level="read_committed")
    log.set_splits([f"{topic}-0"])
    written(log, {f"{topic}-0": 2})
    patience_ms, began = 600_000, time.monotonic()
    assert struct.unpack(">4q", log.requests._jvm.sample(struct.pack(">2q", 1, 2), patience_ms)) == (-1, -1, -1, -1)
    assert time.monotonic() - began < patience_ms / 2_000


def test_an_aborted_transaction_is_a_hole_that_is_passed_over(
    open_log: Open, transactions: Producer, topic: str
) -> None:
    for seconds, end in (((10,), "commit"), ((20, 21, 22), "abort"), ((30,), "commit")):
        transactions.begin_transaction()
        send(transactions, topic, *seconds)
        transactions.commit_transaction(30) if end == "commit" else transactions.abort_transaction(30)
    log, ends = open_log(isolation__level="read_committed"), {f"{topic}-0": 8}
    log.set_splits(ends)
    written(log, ends)
    assert log.heads({f"{topic}-0": 2}, ends) == heads(topic, p0=(6, 30))
    assert log.heads({f"{topic}-0": 2}, {f"{topic}-0": 6}) == {}

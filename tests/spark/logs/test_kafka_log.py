"""The split logs of a Kafka source, by the real `KafkaLog.java` on a real broker, against what was
produced.
"""

import struct
import time

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JJavaError

from lockgate.plan.model import Head
from lockgate_spark.event_times import Credible
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.ends import look
from support.real_logs import T0, Open, append, at, fill, heads, starts

FAR = 4_070_908_800_000  # 2099


def test_the_first_record_above_a_time_is_found_in_every_split_at_once(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    logs = {"p0": [0, 10, 20, 30], "p1": [], "p2": [5, 5, 5, 25], "p3": [19, 21]}
    ends = fill(kafka, topic, **logs)
    log = open_log()
    log.set_splits(ends)
    log.heads(starts(ends), ends)
    for second in (-1, 0, 4, 5, 19, 20, 24, 30, 31):
        expected = {
            name: found
            for name, times in logs.items()
            if (found := next(((offset, time) for offset, time in enumerate(times) if time > second), None))
        }
        assert log.first_after(at(second), starts(ends), ends) == heads(topic, **expected)


def test_records_at_or_beyond_the_end_are_not_there(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    fill(kafka, topic, p0=[0, 10, 20], p1=[0, 10, 20])
    log = open_log()
    positions, ends = {f"{topic}-0": 0, f"{topic}-1": 1}, {f"{topic}-0": 2, f"{topic}-1": 1}
    log.set_splits(ends)
    assert log.heads(positions, ends) == heads(topic, p0=(0, 0))
    assert log.first_after(at(5), positions, ends) == heads(topic, p0=(1, 10))
    assert log.first_after(at(15), positions, ends) == {}


def test_heads_are_read_or_remembered(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, p0=[0, 10, 20], p1=[5, 15, 25])
    log = open_log()
    log.set_splits(ends)
    assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0), p1=(0, 5))
    asked = log.requests.made
    assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0), p1=(0, 5))
    assert log.requests.made == asked, "remembered"
    log.remember_plan({})
    positions = {f"{topic}-0": 2, f"{topic}-1": 1}
    assert log.heads(positions, ends) == heads(topic, p0=(2, 20), p1=(1, 15))
    assert log.requests.made == asked + 1, "one read for all"
    log.remember_plan(heads(topic, p0=(2, 20), p1=(2, 25)))
    assert log.heads({**positions, f"{topic}-1": 2}, ends) == heads(topic, p0=(2, 20), p1=(2, 25))
    assert log.requests.made == asked + 1, "told by the plan"


def test_behind_a_record_stamped_2099_the_place_is_found_by_halving(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    ends = fill(kafka, topic, p0=[0, FAR, *range(10, 110)], p1=list(range(100)))
    log = open_log()
    log.set_splits(ends)
    positions = {f"{topic}-0": 2, f"{topic}-1": 0}
    log.heads(positions, ends)
    for second, offset in ((9, 2), (10, 3), (57, 50), (108, 101)):
        assert log.first_after(at(second), positions, ends)[f"{topic}-0"] == Head(offset, at(second + 1))
    assert f"{topic}-0" not in log.first_after(at(109), positions, ends)


def test_before_a_record_stamped_2099_look_ups_stop_at_it(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, p0=[0, 10, FAR, 20])
    log = open_log()
    log.set_splits(ends)
    log.heads(starts(ends), ends)
    assert log.first_after(at(5), starts(ends), ends) == heads(topic, p0=(1, 10))
    assert log.first_after(at(15), starts(ends), ends) == {f"{topic}-0": Head(2, FAR)}


TODAY = Credible(0, T0 + 86_400_000)


def test_record_that_is_not_credible_counts_with_the_next_credible_one(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    ends = fill(kafka, topic, p0=[0, 10, FAR, 20, FAR, FAR, 30, FAR], p1=[5, 25], p2=[FAR, FAR])
    log = open_log()
    log.begin_plan(TODAY)
    log.set_splits(ends)
    assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0), p1=(0, 5))
    for second, p0 in ((5, (1, 10)), (10, (2, 20)), (15, (2, 20)), (20, (4, 30)), (29, (4, 30))):
        found = log.first_after(at(second), starts(ends), ends)
        assert found[f"{topic}-0"] == heads(topic, p0=p0)[f"{topic}-0"]
    assert f"{topic}-0" not in log.first_after(at(30), starts(ends), ends)
    assert log.highest(ends) == {f"{topic}-0": at(30), f"{topic}-1": at(25)}
    assert {split for split, learned in log.learned.items() if learned.points.first_met} == {f"{topic}-0", f"{topic}-2"}
    assert log.learned[f"{topic}-2"].points.met(0, 2) == 2
    assert 2 <= log.learned[f"{topic}-0"].points.met(0, 8) <= 4


def test_time_behind_a_record_that_is_not_credible_takes_few_reads(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    ends = fill(kafka, topic, p0=[0, FAR, *range(10, 5_010)], p1=list(range(100)))
    log = open_log()
    log.begin_plan(TODAY)
    log.set_splits(ends)
    positions = {f"{topic}-0": 2, f"{topic}-1": 0}
    log.heads(positions, ends)
    for second, offset in ((9, 2), (2_500, 2_493), (2_600, 2_593)):
        before = log.requests.made
        assert log.first_after(at(second), positions, ends)[f"{topic}-0"] == Head(offset, at(second + 1))
        assert log.requests.made - before <= 8


def test_a_long_stretch_without_a_credible_record_is_gone_through_in_parts(
    open_log: Open, kafka: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockgate_spark.logs.requests.MOST_PASSED", 1_000)
    ends = fill(kafka, topic, p0=[*[FAR] * 2_500, 10])
    log, split, position = open_log(), f"{topic}-0", 0
    log.begin_plan(TODAY)
    log.set_splits(ends)
    stops = []
    while (found := log.heads({split: position}, ends)) == {}:
        position = log.learned[split].end_of_search(ends[split])
        stops.append(position)
    assert stops[0] == 1_000
    assert stops == sorted(set(stops))
    assert found == {split: Head(stops[-1], at(10))}
    assert log.learned[split].end_of_search(ends[split]) == 2_501


def test_a_record_without_a_timestamp_goes_with_the_credible_one_behind_it(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, timestamp, None, b"x") for timestamp in (-1, T0, -1, at(10))])
    log, split = open_log(), f"{topic}-0"
    ends = {split: 4}
    log.begin_plan(TODAY)
    log.set_splits(ends)
    assert log.heads(starts(ends), ends) == heads(topic, p0=(0, 0))
    assert log.learned[split].points.first_met == Head(0, -1)
    assert log.learned[split].points.met(0, 4) == 1
    assert log.first_after(T0 - 1, starts(ends), ends)[split].event_time == T0
    assert log.first_after(T0, starts(ends), ends)[split].event_time == at(10)
    assert log.heads({split: 2}, ends) == heads(topic, p0=(2, 10))
    assert log.learned[split].points.met(2, 4) == 1
    assert log.highest(ends) == {split: at(10)}


def test_a_record_of_the_epoch_s_first_millisecond_is_read_like_any_other(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 1, None, b"x"), (0, T0, None, b"x")])
    ends = {f"{topic}-0": 2}
    log = open_log()
    log.set_splits(ends)
    assert log.heads(starts(ends), ends) == {f"{topic}-0": Head(0, 1)}
    for event_time, found in ((-5, Head(0, 1)), (0, Head(0, 1)), (1, Head(1, T0))):
        assert log.first_after(event_time, starts(ends), ends) == {f"{topic}-0": found}


def test_the_highest_is_that_of_the_records_below_the_end(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    fill(kafka, topic, p0=[0, 30, 10], p1=[], p2=[5, 50])
    log = open_log()
    ends = {f"{topic}-0": 3, f"{topic}-1": 0, f"{topic}-2": 1}
    log.set_splits(ends)
    assert log.highest(ends) == {f"{topic}-0": at(30), f"{topic}-2": at(5)}
    assert log.highest({**ends, f"{topic}-2": 2}) == {f"{topic}-0": at(30), f"{topic}-2": at(50)}


def test_highest_time_asked_before_the_ends_counts_once_they_pass_it(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    fill(kafka, topic, p0=[0, 10])
    log, ends = open_log(), {f"{topic}-0": 2}
    log.set_splits(ends)
    assert log.highest(ends) == {f"{topic}-0": at(10)}
    log.remember_plan({})
    append(kafka, topic, p0=[40])
    assert log.highest(ends) == {f"{topic}-0": at(10)}, "40 s lies beyond the end"
    look(log, 1, ends, {f"{topic}-0": 3})
    assert log.highest({f"{topic}-0": 3}) == {f"{topic}-0": at(40)}


def test_a_log_begins_after_its_deleted_records(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, p0=[0, 10, 20, 30], p1=[0])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 2)]).values():
        deleted.result()
    log = open_log()
    log.set_splits(ends)
    assert log.requests.begins() == {f"{topic}-0": 2, f"{topic}-1": 0}
    # A position that retention has overtaken: the first record that is left.
    assert log.heads(starts(ends), ends) == heads(topic, p0=(2, 20), p1=(0, 0))
    assert log.first_after(at(15), starts(ends), ends) == heads(topic, p0=(2, 20))


def test_a_stretch_of_records_tells_how_far_they_are_out_of_order(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    logs = {"p0": [*range(50)], "p1": [10, 30, 12, FAR, 11, 40], "p2": [99, 20, 50, 45, 0], "p3": []}
    ends = fill(kafka, topic, **logs)
    log = open_log()
    log.begin_plan(Credible(0, at(10**6)))
    log.set_splits(ends)
    positions, asked = {**starts(ends), f"{topic}-2": 1}, log.requests.made
    log.sample(positions, {**ends, f"{topic}-2": 4})
    assert log.requests.made == asked + 1, "for all at once"
    assert {split: learned.points.disorder for split, learned in log.learned.items()} == {
        f"{topic}-0": 0,
        f"{topic}-1": 19_000,
        f"{topic}-2": 5_000,
        f"{topic}-3": 0,
    }
    assert log.heads(positions, ends) == heads(topic, p0=(0, 0), p1=(0, 10), p2=(1, 20)), (
        "what comes next is read as ever"
    )
    log.sample({**ends, f"{topic}-0": 1}, ends)
    assert log.learned[f"{topic}-0"].points.disorder == 0, "a stretch that begins within the one before is not below it"


def test_a_sample_of_a_topic_that_is_gone_shows_nothing(
    open_log: Open, kafka: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # there is nothing to wait for
    monkeypatch.setattr("lockgate_spark.logs.requests._SAMPLE_MS", 1_000)
    ends = fill(kafka, topic, p0=[30, 0])
    log = open_log()
    log.set_splits(ends)
    topics.delete(kafka.bootstrap, topic)
    log.sample(starts(ends), ends)
    assert log.learned[f"{topic}-0"].points.disorder == 0


def test_a_hundred_splits_cost_as_many_requests_as_one(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, **{f"p{n}": [n, n + 1_000] for n in range(100)})
    log = open_log()
    log.set_splits(ends)
    assert log.heads(starts(ends), ends) == heads(topic, **{f"p{n}": (0, n) for n in range(100)})
    assert log.first_after(at(500), starts(ends), ends) == heads(topic, **{f"p{n}": (1, n + 1_000) for n in range(100)})
    assert log.highest(ends) == {f"{topic}-{n}": at(n + 1_000) for n in range(100)}
    assert log.requests.made == 3


def test_splits_come_and_go(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, p0=[0], p1=[1])
    log = open_log()
    for followed in ([0], [0, 1], [], [1]):
        mine = {split: end for split, end in ends.items() if int(split[-1]) in followed}
        log.set_splits(mine)
        assert not log.set_splits(mine)
        assert log.heads(starts(mine), mine) == heads(topic, **{f"p{n}": (0, n) for n in followed})


def test_available_now_keeps_what_was_known_at_the_start(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, p0=[0], p1=[0])
    log = open_log()
    log.set_splits(ends)
    append(kafka, topic, p1=[1])
    log.note_ends(9_000, starts(ends), ends, log.requests.uncommitted_ends(), 5_000)
    assert (log.learned[f"{topic}-0"].known_until, log.learned[f"{topic}-1"].known_until) == (9_000, 5_000)


def test_a_record_that_is_not_credible_is_no_marker(
    open_log: Open, kafka: KafkaBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lockgate")
    ends = fill(kafka, topic, p0=[0, 10, FAR, 20, 30])
    log = open_log()
    log.begin_plan(TODAY)
    log.set_splits(ends)
    log.sample(starts(ends), ends)
    log.heads(starts(ends), ends)
    assert log.first_after(at(15), starts(ends), ends) == heads(topic, p0=(2, 20))
    assert caplog.messages == []


def test_caught_up_begins_with_the_first_look_that_finds_nothing_left(
    open_log: Open, kafka: KafkaBroker, topic: str
) -> None:
    ends = fill(kafka, topic, p0=[0])
    log, split = open_log(), f"{topic}-0"
    log.set_splits(ends)
    for now, position, since in ((1, 0, None), (2, 1, 2), (3, 1, 2), (4, 0, None), (5, 1, 5)):
        look(log, now, {split: position}, ends)
        assert log.learned[split].caught_up_since == since


def test_deleted_split_is_left_out_of_look_ups(open_log: Open, kafka: KafkaBroker, topic: str) -> None:
    ends = fill(kafka, topic, p0=[0, 10])
    log = open_log()
    log.set_splits({**ends, f"{topic}-gone-0": 5})
    assert log.requests.begins() == {f"{topic}-0": 0}
    assert log.requests.uncommitted_ends() == ends
    assert log.requests.first_at(at(5)) == heads(topic, p0=(1, 10))
    assert struct.unpack(">4q", log.requests._jvm.highest()) == (1, at(10), -1, -1)
    positions = {f"{topic}-0": 0, f"{topic}-gone-0": 0}
    assert log.heads(positions, {**ends, f"{topic}-gone-0": 5}) == heads(topic, p0=(0, 0))


def test_look_up_without_answer_is_repeated_by_a_new_client(open_log: Open) -> None:
    log = open_log(bootstrap__servers="127.0.0.1:9", default__api__timeout__ms="1000", request__timeout__ms="1000")
    log.set_splits({"topic-0": 5})
    begun = time.monotonic()
    with pytest.raises(Py4JJavaError, match="TimeoutException"):
        log.requests.begins()
    assert time.monotonic() - begun >= 2.0, "two clients wait for a second each"

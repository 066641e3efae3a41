"""An event time that no record has ends the query; some records without one do not."""

import pytest

from lockgate_spark import Alignment, ConfigurationError
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.planning.start_checks import LOOKED, _described
from support.runs import RunInMemory, SourceInMemory

NONE = -1  # as Kafka says that a record has no time


def in_payload(**records: list[int]) -> SourceInMemory:
    source = SourceInMemory({f"a-{split[1:]}": of_split for split, of_split in records.items()})
    source.event_time = "get_json_object(CAST(value AS STRING), '$.tz')"
    return source


def planned(source: SourceInMemory, mode: str = "align") -> AlignedRun:
    run = AlignedRun(Alignment(mode=mode), RunInMemory(), clock=lambda: 1000.0)  # type: ignore[arg-type]
    run.add(0, source)
    run.latest_offset(0, dict.fromkeys(source.records, 0))
    return run


def test_a_query_whose_records_have_no_event_time_at_all_is_ended() -> None:
    with pytest.raises(ConfigurationError) as refused:
        planned(in_payload(p0=[NONE] * 3, p1=[NONE]))
    text = str(refused.value)
    assert "it gives no time for any of the 4 records looked at in a; a value there has the fields at" in text
    assert "'$.tz'" in text


def test_only_the_last_records_of_a_split_are_looked_at() -> None:
    with pytest.raises(ConfigurationError, match=f"of the {LOOKED} records"):
        planned(in_payload(p0=[NONE] * (LOOKED + 1)))


def test_a_partition_without_event_times_beside_others_ends_nothing() -> None:
    source = in_payload(p0=[NONE] * 3, p1=[5])
    planned(source)
    assert source.looks == 0


def test_partition_read_to_its_end_shows_an_event_time_after_a_restart() -> None:
    source = in_payload(p0=[NONE] * 3, p1=[5])
    run = AlignedRun(Alignment(), RunInMemory(), clock=lambda: 1000.0)
    run.add(0, source)
    run.latest_offset(0, {"a-0": 0, "a-1": 1})
    assert source.looks == 1


def test_an_empty_topic_ends_nothing() -> None:
    source = in_payload(p0=[], p1=[])
    planned(source)
    assert source.looks == 0


def test_records_without_a_value_end_nothing_and_are_looked_at_once() -> None:
    source = in_payload(p0=[NONE, NONE])
    source.without_value = {("a-0", 0), ("a-0", 1)}
    run = planned(source)
    run.latest_offset(0, {"a-0": 0})
    assert source.looks == 1


def test_one_record_with_event_time_shows_that_the_expression_is_right() -> None:
    source = in_payload(p0=[5, NONE])
    run = AlignedRun(Alignment(), RunInMemory(), clock=lambda: 1000.0)
    run.add(0, source)
    run.latest_offset(0, {"a-0": 1})
    assert source.looks == 1


def test_what_has_given_a_time_once_is_never_ended() -> None:
    source = in_payload(p0=[5])
    run = planned(source)
    source.records["a-0"] += [NONE] * 2 * LOOKED
    run.latest_offset(0, {"a-0": 1})
    assert source.looks == 0


def test_a_topic_that_is_filled_later_is_looked_at_then() -> None:
    source = in_payload(p0=[])
    run = planned(source)
    source.records["a-0"].append(NONE)
    with pytest.raises(ConfigurationError, match="any of the 1 records"):
        run.latest_offset(0, {"a-0": 0})


def test_kafkas_own_timestamp_is_not_looked_at() -> None:
    source = SourceInMemory({"a-0": [NONE]})
    planned(source)
    assert source.looks == 0


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            '{"ts": "2026", "order": {"id": 5, "at": 1}, "empty": {}}',
            "a value there has the fields ts, order.id, order.at, empty",
        ),
        ("?", "not text (Avro or Protobuf?)"),
        ("2026-01-01,5", "text, but not JSON"),
        ("[1]", "JSON without fields"),
        ("{" + ", ".join(f'"f{n}": 1' for n in range(30)) + "}", "f19 and 10 more"),
    ],
)
def test_value_is_described_by_its_field_names_only(value: str, says: str) -> None:
    assert says in _described(value)
    assert "2026" not in _described(value)

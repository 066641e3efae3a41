"""What is said of streams that nobody aligned: a rule over the origins of a query's watermarks."""

import logging

import pytest

from lockgate_spark import Alignment, UnsupportedQuery
from lockgate_spark.event_times import Origin, QueryWatermark, Unaligned
from lockgate_spark.planning.start_checks import check_origins

ALIGNED = Origin(True, "timestamp", "timestamp", 0)
READER = 'spark.readStream.format("kafka").option("subscribe", "payments")….load()'
FORGOTTEN = Origin(False, "timestamp", "timestamp", unaligned=(Unaligned("KafkaV2[Subscribe[payments]]", READER),))
RATE = Origin(False, "timestamp", "timestamp", unaligned=(Unaligned("RateStream"),))
STATIC = Origin(False, "day", "day")
LINE = f"lockgate_spark.align({READER})"


def on(*origins: Origin) -> QueryWatermark:
    return QueryWatermark("ts", 60_000, origins)


def said(
    caplog: pytest.LogCaptureFixture, *found: QueryWatermark, highest: bool = False, **alignment: str
) -> list[tuple[str, str]]:
    with caplog.at_level(logging.INFO, "lockgate"):
        check_origins(found, highest, Alignment(**alignment))  # type: ignore[arg-type]
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_unaligned_kafka_source_under_one_watermark_is_refused() -> None:
    with pytest.raises(UnsupportedQuery) as error:
        check_origins([on(ALIGNED, FORGOTTEN)], False, Alignment())
    for part in ('withWatermark("ts", …)', "KafkaV2[Subscribe[payments]]", LINE, 'Alignment(other_event_time="warn")'):
        assert part in str(error.value)


@pytest.mark.parametrize("alignment", [{"other_event_time": "warn"}, {"mode": "observe"}])
def test_a_source_left_out_is_warned_of_once_by_choice_and_in_a_dry_run(
    caplog: pytest.LogCaptureFixture, alignment: dict[str, str]
) -> None:
    ((level, text),) = said(caplog, on(ALIGNED, FORGOTTEN, FORGOTTEN), **alignment)
    assert level == "WARNING"
    assert "KafkaV2[Subscribe[payments]]" in text
    assert LINE in text


def test_an_expression_over_both_is_no_other_than_a_union_of_both() -> None:
    both = Origin(True, None, "greatest(a, b)", None, unaligned=FORGOTTEN.unaligned)
    with pytest.raises(UnsupportedQuery, match="payments"):
        check_origins([on(both)], False, Alignment())


def test_stream_that_cannot_be_aligned_is_warned_of_with_advice(caplog: pytest.LogCaptureFixture) -> None:
    ((level, text),) = said(caplog, on(ALIGNED, RATE))
    assert level == "WARNING"
    assert "RateStream" in text
    assert "its own withWatermark" in text


def test_unaligned_stream_with_its_own_watermark_is_only_mentioned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ((level, text),) = said(caplog, on(ALIGNED), on(FORGOTTEN), on(RATE))
    assert level == "INFO"
    assert LINE in text


def test_where_spark_goes_by_the_highest_watermark_it_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    found = said(caplog, on(ALIGNED), on(FORGOTTEN), on(RATE), highest=True)
    assert [level for level, _ in found] == ["WARNING", "WARNING"]
    assert LINE in found[0][1]
    assert "Leave spark.sql.streaming.multipleWatermarkPolicy out" in found[1][1]


@pytest.mark.parametrize(
    "found", [[on(ALIGNED)], [on(ALIGNED, ALIGNED), on(ALIGNED)], [on(ALIGNED, STATIC)], [on(FORGOTTEN)], []]
)
def test_aligned_streams_alone_bring_no_warning(caplog: pytest.LogCaptureFixture, found: list[QueryWatermark]) -> None:
    assert said(caplog, *found, highest=True) == []

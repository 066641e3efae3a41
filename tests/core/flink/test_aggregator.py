"""The aggregator against the plain minimum of the last value per key."""

from hypothesis import given
from hypothesis import strategies as st

from lockgate.flink.aggregator import WatermarkAggregator
from lockgate.watermark import MAX, MIN

REPORTS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9) | st.sampled_from([MIN, MAX])), max_size=60)


@given(REPORTS)
def test_the_result_is_the_minimum_of_the_last_watermark_of_each_key(reports: list[tuple[str, int]]) -> None:
    aggregator: WatermarkAggregator[str] = WatermarkAggregator()
    last: dict[str, int] = {}
    before = MIN
    for key, watermark in reports:
        last[key] = watermark
        minimum = min(last.values())
        assert aggregator.aggregate(key, watermark) == (None if minimum == before else minimum)
        assert aggregator.aggregated == minimum
        before = minimum
    assert aggregator.keys() == list(last)


@given(REPORTS)
def test_the_order_of_reports_of_different_keys_does_not_matter_in_the_end(reports: list[tuple[str, int]]) -> None:
    ends = []
    for order in (reports, sorted(reports, key=lambda report: report[0])):
        aggregator: WatermarkAggregator[str] = WatermarkAggregator()
        for report in order:
            aggregator.aggregate(*report)
        ends.append(aggregator.aggregated)
    assert ends[0] == ends[1]

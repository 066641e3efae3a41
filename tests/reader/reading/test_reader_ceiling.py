"""The ceiling of one reader: a table of cases."""

import pytest

from lockgate.watermark import MIN
from lockgate_reader.reading.ceiling import own_ceiling


@pytest.mark.parametrize(
    ("watermark", "known", "kept_back", "ceiling"),
    [
        (MIN, False, 500, MIN),  # nothing goes out before the first watermark
        (MIN, True, 500, 500),  # unless every split has shown a record: then the lowest one does
        (100, False, None, 110),
        (100, False, 500, 110),
        (100, True, 105, 110),
        (100, True, 500, 500),  # a gap that is wider than the drift is crossed
        (100, True, None, 110),
    ],
)
def test_the_ceiling_is_a_drift_above_the_watermark_and_never_below_all_that_there_is_to_read(
    watermark: int, known: bool, kept_back: int | None, ceiling: int
) -> None:
    assert own_ceiling(watermark, 10, known, kept_back) == ceiling

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_http.duration import as_option, milliseconds
from lockgate_http.errors import ConfigurationError


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("10 minutes", 600_000),
        ("1 hour 30 seconds", 3_630_000),
        ("interval 1 day", 86_400_000),
        ("  5 SECONDS ", 5_000),
        ("250 milliseconds", 250),
        ("0 seconds", 0),
        (1500, 1500),
        (timedelta(minutes=2), 120_000),
    ],
)
def test_durations_are_written_as_spark_s_users_write_them(written: str, ms: int) -> None:
    assert milliseconds("x", written) == ms


@pytest.mark.parametrize("bad", ["", "ten minutes", "10", "10 parsecs", "5 minutes and a bit", 1.5, None, True])
def test_value_that_is_no_duration_is_refused_with_option_and_example(bad: object) -> None:
    with pytest.raises(ConfigurationError, match=r'max_drift=.*"10 minutes"'):
        milliseconds("max_drift", bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("negative", ["-1 second", -1, timedelta(seconds=-1)])
def test_negative_durations_are_refused(negative: object) -> None:
    with pytest.raises(ConfigurationError, match="must not be negative"):
        milliseconds("max_drift", negative)  # type: ignore[arg-type]


@given(st.integers(0, 10**15))
def test_a_duration_to_be_written_as_an_option_is_exact(ms: int) -> None:
    assert milliseconds("x", as_option(ms)) == ms


def test_a_duration_to_be_written_as_an_option_is_in_spark_s_words() -> None:
    assert [as_option(ms) for ms in (0, 600_000, 331_001)] == [
        "0 seconds",
        "10 minutes",
        "5 minutes 31 seconds 1 millisecond",
    ]

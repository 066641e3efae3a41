"""The number of a source in its query's plan and group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_spark.jvm.watermarks import NAMED, source_index

NAMES = st.text("abcXYZ019_", min_size=1, max_size=20)


@given(st.integers(0, NAMED - 1))
def test_a_source_without_a_name_has_the_number_that_spark_gives_it(number: int) -> None:
    assert source_index(f"hdfs://name:8020/checkpoint/sources/{number}") == number


@given(NAMES)
def test_the_number_of_a_name_is_the_name_s_alone(name: str) -> None:
    assert source_index(f"file:/a/sources/{name}") == source_index(f"s3a://b/c/sources/{name}/")


@given(NAMES.filter(lambda name: not name.isdecimal()))
def test_no_name_has_the_number_of_a_source_without_one(name: str) -> None:
    assert source_index(f"/a/sources/{name}") >= NAMED


@pytest.mark.parametrize(("one", "other"), [("7", "07"), ("0", "00"), ("4294967296", "42949672960")])
def test_names_of_digits_alone_are_told_apart(one: str, other: str) -> None:
    assert source_index(f"/a/sources/{one}") != source_index(f"/a/sources/{other}")

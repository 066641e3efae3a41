"""The list of test files that a run begins with names files that there are."""

from support.imports import CHECKOUT
from support.long_first import SECONDS


def test_each_file_that_is_listed_as_long_exists() -> None:
    names = {path.name for path in (CHECKOUT / "tests").rglob("test_*.py")}
    assert SECONDS.keys() <= names


def test_the_longest_files_are_listed_first() -> None:
    assert sorted(SECONDS.values(), reverse=True) == list(SECONDS.values())

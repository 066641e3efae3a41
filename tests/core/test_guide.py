"""The snippets of the guide do what the guide says."""

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "watermarks.md"


def test_the_snippets_of_the_guide_to_watermarks_do_what_it_says() -> None:
    failed, tried = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert (failed, tried > 30) == (0, True)

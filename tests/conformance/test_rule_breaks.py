"""The list of broken rules stays true: each can be made, and (in the long run) each is caught."""

import pytest
from rule_breaks.breaks import BREAKS, Break
from rule_breaks.catching import caught_by, files_of, source


@pytest.mark.parametrize("each", BREAKS, ids=lambda each: each.rule)
def test_a_break_changes_one_place_of_the_source(each: Break) -> None:
    assert (source(each.package) / each.file).read_text().count(each.old) == 1
    assert each.old != each.new


@pytest.mark.parametrize("each", BREAKS, ids=lambda each: each.rule)
def test_the_tests_named_with_a_break_exist(each: Break) -> None:
    assert sorted(path.name for path in files_of(each)) == sorted(each.tests) != []


def test_no_rule_is_listed_twice() -> None:
    assert len({each.rule for each in BREAKS}) == len(BREAKS) >= 20


@pytest.mark.long
@pytest.mark.parametrize("each", BREAKS, ids=lambda each: each.rule)
def test_a_broken_rule_is_caught(each: Break) -> None:
    assert any(caught_by(each))

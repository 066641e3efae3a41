"""A plan makes as many calls to the driver's JVM for many splits as for few: each one waits for an
answer.
"""

from typing import Any

import pytest

from lockgate_spark.logs.kafka import KafkaSplitLog
from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, minutes, session


class Counted:
    """Stands before a log and notes which calls come."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self._jvm, name)


def calls_of_the_second_plan(splits: int, available_now: bool) -> list[str]:
    source = SourceInMemory({f"a-{n}": minutes(*range(n % 7 + 3)) for n in range(splits)}, budget=splits)
    counted = Counted(source.jvm)
    source.log = KafkaSplitLog(counted)
    one = (
        session(source.available_now(NOW_MS), run=RunInMemory(available_now=True)) if available_now else session(source)
    )
    first = one.latest_offset(0, source.initial())
    counted.calls.clear()
    one.latest_offset(0, first)
    return counted.calls


@pytest.mark.parametrize("available_now", [True, False])
def test_a_plan_over_many_splits_makes_as_many_calls_as_one_over_few(available_now: bool) -> None:
    few, many = (calls_of_the_second_plan(splits, available_now) for splits in (7, 350))
    assert 0 < len(few) <= 15
    assert len(many) <= len(few) + 5, many

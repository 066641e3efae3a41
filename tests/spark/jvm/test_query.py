"""How a query is run, with Spark's own object alone replaced."""

from types import SimpleNamespace
from typing import Any

import pytest

from lockgate_spark import UnsupportedQuery
from lockgate_spark.jvm.query import refuse_modes


def of_class(name: str, **methods: Any) -> Any:
    return SimpleNamespace(getClass=lambda: SimpleNamespace(getSimpleName=lambda: name), **methods)


@pytest.mark.parametrize(
    ("execution", "told"),
    [
        ("SequentialUnionExecution", r"followedBy\(\).*align\(history\.union\(live\)\).*older first"),
        ("AsyncProgressTrackingMicroBatchExecution", "Leave out asyncProgressTrackingEnabled"),
        ("SomethingNewExecution", "SomethingNewExecution: .*unknown to this version"),
    ],
)
def test_execution_mode_that_cannot_be_aligned_is_refused_with_advice(execution: str, told: str) -> None:
    with pytest.raises(UnsupportedQuery, match=told):
        refuse_modes(of_class(execution, trigger=lambda: of_class("ProcessingTimeTrigger")))


def test_micro_batches_are_not_refused() -> None:
    refuse_modes(of_class("MicroBatchExecution", trigger=lambda: of_class("ProcessingTimeTrigger")))

"""The task around a source operator (Flink's `SourceOperatorStreamTask`; seed 003).

It lets the operator emit while there is something; and it says the last word: when the data has
come to its end, or the source was stopped with drain, MAX goes out after the last record, so that
every timer downstream fires. Stopped without drain, nothing does: the job will go on from a
savepoint, and event time with it. Bounded execution has this MAX as its only watermark.

Used with `lockgate.flink.propagation.network`, whose task's output it feeds, by the plain readers
and `lockgate simulate`.
"""

from typing import Generic, TypeVar

from lockgate.flink.elements import DataOutput, WatermarkStatus
from lockgate.flink.source.operator import SourceOperator
from lockgate.flink.source.operator_events import SourceSplit
from lockgate.flink.source.reader import DataInputStatus
from lockgate.watermark import MAX

S = TypeVar("S", bound=SourceSplit)


class SourceTask(Generic[S]):
    """An opened source operator and its output."""

    def __init__(self, operator: SourceOperator[S], output: DataOutput) -> None:
        self._operator = operator
        self._output = output

    def run(self) -> DataInputStatus:
        """Emit until there is nothing for now (then `operator.availability()` says when there is),
        or nothing ever.
        """
        while True:
            status = self._operator.emit_next(self._output)
            if status is DataInputStatus.END_OF_DATA:
                # an idle output lets no watermark through, and this one must not be lost
                if self._operator.idle:
                    self._output.emit_status(WatermarkStatus.ACTIVE)
                self._output.emit_watermark(MAX)
                self._operator.finish()
            elif status is not DataInputStatus.MORE_AVAILABLE:
                return status

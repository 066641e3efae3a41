"""The task around a source operator (Flink's `SourceOperatorStreamTask`).

It lets the operator emit as long as there are records. When the data has ended, or the source was
stopped with drain, it emits MAX after the last record. So every timer downstream fires. Stopped
without drain it emits nothing more: the job will go on from a savepoint, and event time with it. In
bounded execution this MAX is the only watermark.

Used by the tests; a `lockgate.flink.propagation.network` takes the task's output.
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
        """Emit until there is no record for now, or no more at all. In the first case
        `operator.availability()` says when there is one.
        """
        while True:
            status = self._operator.emit_next(self._output)
            if status is DataInputStatus.END_OF_DATA:
                # An idle output lets no watermark through, and this one must not be lost.
                if self._operator.idle:
                    self._output.emit_status(WatermarkStatus.ACTIVE)
                self._output.emit_watermark(MAX)
                self._operator.finish()
            elif status is not DataInputStatus.MORE_AVAILABLE:
                return status

"""The public function `report_progress`."""

from pyspark.sql import DataFrame

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.spark_lines import is_connect


def report_progress(batch: DataFrame) -> None:
    """Report the progress of `batch` to the coordinator from Spark's executors, while the batch
    runs.

    Call it in foreachBatch before a long action, so that the group does not wait for the whole
    batch. If a report fails, a warning is logged and the batch continues. The call does nothing in
    observe mode, if Spark's conf switches alignment off, if Spark replays the batch from the
    checkpoint, or if the coordinator is away.

    Args:
        batch: The batch, with Kafka's columns `topic`, `partition` and `offset` and the columns
            that the event time is computed from.

    Raises:
        UnsupportedQuery: A column is missing, the query is not aligned through a coordinator, or
            the session belongs to Spark Connect.

    """
    if is_connect(batch):
        raise UnsupportedQuery(
            "report_progress(batch) runs a function in Spark's tasks, which Spark Connect does not support: leave it "
            "out. The group then gets the report when the batch is done"
        )
    from lockgate_spark.jvm.progress_reports import report_progress as report_by_py4j

    report_by_py4j(batch)

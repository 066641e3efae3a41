"""`report_progress`: the executors tell the group how far a batch has got."""

from pyspark.sql import DataFrame

from lockgate_spark.connect import is_connect
from lockgate_spark.errors import UnsupportedQuery


def report_progress(batch: DataFrame) -> None:
    """Lets the executors report the splits of `batch` to the group's coordinator.

    `batch` still has Kafka's columns `topic`, `partition` and `offset`, and those that event time
    is made of. Raises `UnsupportedQuery` where it has not, and where the query is not aligned
    through a coordinator, unless Spark's conf has switched alignment off. A report that fails, for
    whatever reason, is warned of and fails nothing.
    """
    if is_connect(batch):
        raise UnsupportedQuery(
            "report_progress(batch) runs a function in Spark's tasks that Spark Connect has no way to: leave it out. "
            "The group then learns of a batch when it is done"
        )
    from lockgate_spark.jvm.progress_reports import report_progress as report_by_py4j

    report_by_py4j(batch)

"""The wait of a batch in foreachBatch."""

import pytest
from pyspark.sql import SparkSession

from lockgate_spark.errors import Stopped
from lockgate_spark.jvm.batch import check_running
from support.runs import RunInMemory


def test_a_query_that_was_told_to_stop_waits_no_longer_though_no_interrupt_shows(spark: SparkSession) -> None:
    # So it is where Python's threads are not pinned to the JVM's.
    check_running(spark, RunInMemory())
    with pytest.raises(Stopped, match="InterruptedException"):
        check_running(spark, RunInMemory(active=False))

"""The wait of a batch in foreachBatch."""

from unittest.mock import MagicMock

import pytest
from pyspark.sql import SparkSession

from lockgate_spark.errors import Stopped
from lockgate_spark.jvm.query import QueryRun


def test_stopped_query_waits_no_longer_though_no_interrupt_shows(spark: SparkSession) -> None:
    # So it is where Python's threads are not pinned to the JVM's.
    QueryRun(MagicMock(isActive=lambda: True), spark._jvm).check_active()
    with pytest.raises(Stopped, match="InterruptedException"):
        QueryRun(MagicMock(isActive=lambda: False), spark._jvm).check_active()

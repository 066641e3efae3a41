"""The demo's Spark: started, and stopped so that its JVM is gone before the program is."""

import logging
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from examples.demo.signals import Signals
from pyspark import SparkContext
from pyspark.sql import SparkSession

from lockgate_testbed.java import options
from lockgate_testbed.spark import LOGGING, session

STOP_WITHIN_S = 20.0
CONF = {
    # the summary is made of them: none may be forgotten
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
    "spark.sql.streaming.stopTimeout": "10s",  # the default waits for ever
    # A query that is stopped within foreachBatch: Spark searches Python's traceback with a regular
    # expression that recurses for each character, and would end with a StackOverflowError on the
    # usual stack of 1 MB.
    "spark.driver.extraJavaOptions": " ".join((f"-Dlog4j2.configurationFile=file:{LOGGING}", "-Xss16m", *options())),
}


@contextmanager
def running_spark(signals: Signals) -> Iterator[SparkSession]:
    """Start a session, and stop queries that still run in it on the way out."""
    signals.hold()
    spark = None
    try:
        # On a thread of its own: on the main one PySpark would take SIGINT for itself.
        with ThreadPoolExecutor(1) as starter:
            spark = starter.submit(session, "lockgate demo", conf=CONF).result()
        signals.check()
        yield spark
    finally:
        # for the rest of the program: a batch that is cut short complains of it with a traceback
        logging.disable()
        if spark is not None:
            with suppress(
                Exception
            ):  # what does not end in order, since it has failed or takes too long, ends with the JVM
                _stop(spark)
        gateway: Any = SparkContext._gateway
        if gateway is not None:
            _end(gateway.proc)


def _stop(spark: SparkSession) -> None:
    spark.sparkContext.setLogLevel("OFF")  # for the same reason
    for query in spark.streams.active:
        query.stop()
    spark.stop()


def _end(jvm: "subprocess.Popen[bytes]") -> None:
    # PySpark leaves the JVM to notice that its standard input has ended, which is only when the
    # program itself has gone.
    if jvm.stdin is not None:
        jvm.stdin.close()
    try:
        jvm.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()

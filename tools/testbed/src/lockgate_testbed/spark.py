"""A local Spark session with the Kafka connector on its classpath."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lockgate_testbed import class_archives, jars
from lockgate_testbed.java import java, options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")
PLAIN_FILES = {
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    # Spark's usual one goes by Hadoop's FileContext, which takes no other local file system.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}


def session(
    app_name: str, cores: int = 2, conf: Mapping[str, str] | None = None, *, plain_files: bool = False
) -> "SparkSession":
    """Start a classic session on this machine, or give the one that runs. `conf` is laid over the
    defaults.

    Hadoop starts a `chmod` for each file that a checkpoint gets, some 30 a batch. With
    `plain_files` it does not, and a short batch takes a quarter less processor time; from Spark
    4.2.

    Event times are read and printed in UTC; only errors are logged. Raises `JavaMissing`,
    `JarsUnavailable`.
    """
    from pyspark.sql import SparkSession

    java()
    # Workers run this very interpreter: with another Python than the driver's they die with a bare
    # time-out.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(app_name).master(f"local[{cores}]")
    for key, value in {**defaults(cores, plain_files), **(conf or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def classpath_of(plain_files: bool) -> str:
    """Return the classpath that a session's driver gets beside Spark's own. Raises
    `JarsUnavailable`.
    """
    return os.pathsep.join(map(str, (*jars.kafka_connector(), *(jars.plain_files() if plain_files else ()))))


def archive_classes() -> None:
    """Make the archives of the classes that sessions load."""
    for plain_files in (False, True):
        class_archives.make(classpath_of(plain_files), plain_files=plain_files)


def defaults(cores: int, plain_files: bool = False) -> dict[str, str]:
    """Spark's conf on this machine, with the Kafka connector on the driver's classpath. Raises
    `JarsUnavailable`.
    """
    classpath = classpath_of(plain_files)
    java_options = (
        f"-Dlog4j2.configurationFile=file:{LOGGING}",
        "-Xss8m",
        *options(),
        *class_archives.option(classpath),
    )
    return {
        **(PLAIN_FILES if plain_files else {}),
        # The classpath rather than spark.jars: nothing is copied, and py4j sees the connector's
        # classes from the start.
        "spark.driver.extraClassPath": classpath,
        # A query that is stopped amid its foreachBatch: Spark looks through Python's whole
        # traceback by a pattern that recurses, and its thread dies of that where its stack is the
        # usual one of 1 MB.
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
    }

"""Publishes the rows of the table of late rows to a Kafka topic as well
(`Alignment(late_rows_topic=…)`).

A batch is published when its folder in the table is complete. Then the empty file `_published` is
made in the folder, without which the batch is published before any later one.

Spark's Kafka sink writes at least once. If one of its tasks fails, or if the process ends before
the file is made, rows of a batch can be in the topic twice. Consumers can remove the copies,
because no two rows of the table are equal.
"""

from collections.abc import Mapping
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lockgate_http.errors import ConfigurationError, KafkaFailed
from lockgate_spark.jvm.failures import java_text

PUBLISHED = "_published"
"""Name of the file in the folder of a published batch. Spark reads no file whose name begins with
an underscore.
"""

_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}


class LateTopic:
    """The Kafka topic to which late rows are written, on the brokers of the first source in
    `sources`. Raises `ConfigurationError` if the topic is missing or not accessible, or if a source
    reads it.
    """

    def __init__(self, name: str, sources: Mapping[int, Any], spark: SparkSession) -> None:
        self.name, where = name, f"Alignment(late_rows_topic={name!r})"
        given = sources[min(sources)].selected.given
        self._options = {key: value for key, value in given.items() if key.lower().startswith("kafka.")}
        for source in sources.values():
            if source.selected.reads(name, spark._jvm):
                option = f"{source.selected.option}={source.selected.text!r}"
                raise ConfigurationError(
                    f"{where}: the query reads this topic itself ({option}). Give its late rows another one"
                )
        try:
            reader = spark.read.format("kafka").options(**self._options)
            reader.option("subscribe", name).load().rdd.getNumPartitions()
        except Exception as error:
            raise ConfigurationError(
                f"{where}: Kafka refuses this topic ({java_text(error) or error}). Create it on "
                "the brokers of the query's source, or let the source's principal describe it and write to it"
            ) from error

    def publish(self, rows: DataFrame) -> None:
        """Write each row to the topic, as a JSON object. The Kafka key is the topic and partition
        from which the late record was read. Raises `KafkaFailed` if Kafka does not accept all rows.
        """
        columns = F.concat_ws("-", "topic", "partition").alias("key"), F.to_json(F.struct("*"), _TIMES).alias("value")
        ordered = rows.coalesce(1).sortWithinPartitions("topic", "partition", "offset").select(*columns)
        try:
            ordered.write.format("kafka").options(**self._options).option("topic", self.name).save()
        except Exception as error:
            raise KafkaFailed(
                f'late rows are in the table, but not in the topic "{self.name}" ({java_text(error) or error}). They '
                "are published before the next ones, by this run or by the next"
            ) from error

"""Writes a table of the rows that Spark drops as late (`Alignment(late_rows="keep")`). If Spark's
own metric shows that rows of a batch were dropped, `DroppedRows` reads the batch again to find
them.

**Exactly once.** The rows are a function of the checkpoint. A batch has a folder of its own, which
appears by a rename when it is complete. It is written after Spark has committed the batch, so a
batch that runs again has nothing to undo. If the process ends between the commit and the rename,
the next run first writes the missing rows of the last batch.

**At least once.** A batch is published to the topic for late rows once its folder is complete, and
then the file `_published` is made in it. If a task of Spark's Kafka sink fails, or the process ends
before that, rows can be in the topic twice. No two rows of the table are equal, so consumers can
remove the copies.
"""

import logging
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import pyspark.sql.functions as F
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from lockgate_http.errors import ConfigurationError, KafkaFailed
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.dropped import DroppedRows
from lockgate_spark.jvm.failures import java_text
from lockgate_spark.jvm.query import QueryRun

log = logging.getLogger("lockgate")

_PUBLISHED = "_published"  # Spark reads no file whose name begins with an underscore
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}


class KeptRows:
    """Writes the late rows of one run to the table at `path`, and to a topic if `alignment` names
    one. The other arguments are those of `DroppedRows`.
    """

    def __init__(self, spark: SparkSession, run: QueryRun, alignment: Alignment, sources: Mapping[int, Any]) -> None:
        self._spark, self._run, self._sources = spark, run, sources
        self.path = alignment.late_rows_path or f"{run.execution.resolvedCheckpointRoot()}/lockgate/late_rows"
        self._topic_name = alignment.late_rows_topic
        self._topic: LateTopic | None = None
        self._unpublished: list[int] = []
        self._committed, self._repeats = run.last_committed(), run.repeats()
        self._memory = run.memory("late")
        self._done: int | None = None
        self._dropped: DroppedRows | None = None
        self._total = 0

    def expect(self) -> None:
        """Prepare the table before the first batch: write the late rows that the previous run has
        not written, and delete the rows of batches that are not committed.
        """
        if self._dropped is not None:
            return
        if self._topic_name is not None:
            self._topic = LateTopic(self._topic_name, self._sources, self._spark)
        try:
            self._dropped = DroppedRows(self._spark, self._run, self._sources)
        except UnsupportedQuery as error:
            raise UnsupportedQuery(
                f'late_rows="keep": {error}, so that a late row of this query cannot be followed to its offset. Use '
                'late_rows="count", or leave late_rows out'
            ) from None
        files, last = self._files(), -1 if self._committed is None else self._committed
        files.mkdirs(self._path())
        there = sorted(self._discard_after(last), reverse=True)
        if self._topic is not None:
            newer = takewhile(lambda batch: not files.exists(self._folder(batch, _PUBLISHED)), there)
            self._unpublished = list(newer)[::-1]
        # a batch begins when the one before is written; a run that is not killed notes its last one
        if not (last < 0 or self._repeats or str(last) in self._memory.read() or files.exists(self._folder(last))):
            self._write(last)
        self._publish()

    def take(self) -> None:
        """Write the late rows of the last batch, after each batch."""
        batch = self._run.last_batch()
        if batch is None or batch == self._done:
            return
        self.expect()
        dropped = self._run.dropped()
        if dropped:
            self._write(batch)
        self._done = batch
        if dropped:
            self._publish()

    def sum_up(self) -> None:
        """Log how many rows the run has written, at its end. Keep the number of its last batch, so
        that the next run does not look for late rows of it again.
        """
        if self._total:
            log.warning("this run wrote %d late rows to %s", self._total, self.path)
        if self._done is not None:
            try:
                self._memory.write(self._done, str(self._done))
            except Py4JJavaError as error:  # the thread of a query that was stopped is interrupted
                log.debug("the next run looks at batch %d again: %s", self._done, error)
        self._done, self._total = None, 0

    def _write(self, batch: int) -> None:
        assert self._dropped is not None
        rows = self._dropped.of(batch)
        if rows is None:
            return
        files, folder, made = self._files(), self._folder(batch), self._path(f"_writing/{self._run.query_id}-{batch}")
        rows.write.mode("overwrite").parquet(str(made))
        written = rows.sparkSession.read.schema(rows.schema).parquet(str(made)).count()
        if not written:
            files.delete(made, True)
            return
        files.mkdirs(folder.getParent())
        files.delete(folder, True)
        if not files.rename(made, folder):
            raise OSError(f"cannot rename {made} to {folder}")
        said = "batch %d: Spark dropped %d late rows, which are in %s. The sum is logged at the end of the run"
        log.log(logging.DEBUG if self._total else logging.WARNING, said, batch, written, self.path)
        self._total += written
        if self._topic is not None:
            self._unpublished.append(batch)

    def _discard_after(self, batch: int) -> list[int]:
        """Delete the rows of batches after `batch`, which exist if the checkpoint was set back.
        Return the batches that are left.
        """
        files, parent = self._files(), self._folder(0).getParent()
        paths = [status.getPath() for status in files.listStatus(parent)] if files.exists(parent) else []
        numbers = {int(name): path for path in paths if (name := str(path.getName()).rpartition("=")[2]).isdecimal()}
        for later in [number for number in numbers if number > batch]:
            files.delete(numbers.pop(later), True)
        return list(numbers)

    def _publish(self) -> None:
        while self._topic is not None and self._unpublished:
            batch = self._unpublished[0]
            table = self._spark.read.option("basePath", self.path)
            self._topic.publish(table.parquet(str(self._folder(batch))))
            self._files().create(self._folder(batch, _PUBLISHED)).close()
            del self._unpublished[0]

    def _folder(self, batch: int, file: str = "") -> Any:
        return self._path(f"query={self._run.query_id}/batch_id={batch}/{file}")

    def _path(self, below: str = "") -> Any:
        return self._run.jvm.org.apache.hadoop.fs.Path(f"{self.path}/{below}")

    def _files(self) -> Any:
        session = self._run.execution.sparkSession()
        return self._path().getFileSystem(session.sessionState().newHadoopConf())


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
                raise ConfigurationError(f"{where}: the query reads this topic itself ({option}). Name another")
        try:
            reader = spark.read.format("kafka").options(**self._options)
            reader.option("subscribe", name).load().rdd.getNumPartitions()
        except Exception as error:
            raise ConfigurationError(
                f"{where}: Kafka refuses this topic ({java_text(error) or error}). Create it on "
                "the brokers of the query's source, or let the source's principal describe it and write to it"
            ) from error

    def publish(self, rows: DataFrame) -> None:
        """Write each row to the topic, as JSON by the topic and partition of the late record."""
        columns = F.concat_ws("-", "topic", "partition").alias("key"), F.to_json(F.struct("*"), _TIMES).alias("value")
        ordered = rows.coalesce(1).sortWithinPartitions("topic", "partition", "offset").select(*columns)
        try:
            ordered.write.format("kafka").options(**self._options).option("topic", self.name).save()
        except Exception as error:
            raise KafkaFailed(
                f'late rows are in the table, but not in the topic "{self.name}" ({java_text(error) or error}). They '
                "are published before the next ones, by this run or by the next"
            ) from error

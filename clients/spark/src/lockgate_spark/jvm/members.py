"""A list of the members of Spark that this package uses although they are not public API.

`tests/spark/jvm/test_members.py` compares this list with the Python sources. Members used by Java
files are not listed, because compiling these files shows whether the members exist.
"""

from typing import NamedTuple

ALIGN = "align()"
"""The feature that all others need in a classic session."""


class Members(NamedTuple):
    """Members of one class of Spark. If a class or member has different names in different versions
    of Spark, `|` separates these names.

    Attributes:
        owner: Name of the class below `org.apache.spark`.
        names: Names of the members; empty if only the class itself or its constructor is used.
        needed_for: The feature that does not work without these members.
    """

    owner: str
    names: str
    needed_for: str = ALIGN


_TIME = "Alignment(event_time=…) and gate()"
_LATE = "Alignment(late_rows=…)"
_GAUGES = "gauges in Spark's metrics system"
_KEPT = "lags kept in the checkpoint"
_NAMED = "sources with names, readStream.name(…)"
_CONSTRUCTED = ""

MEMBERS = (
    Members("sql.classic.Dataset|sql.Dataset", "ofRows queryExecution"),
    Members("sql.classic.SparkSession|sql.SparkSession", "sessionState sharedState emptyDataFrame"),
    Members("sql.execution.QueryExecution", "analyzed optimizedPlan executedPlan"),
    Members("sql.internal.SharedState", "activeStreamingQueries"),
    Members("sql.internal.SessionState", "sqlParser", _TIME),
    Members("sql.internal.SessionState", "newHadoopConf", _KEPT),
    Members("sql.internal.SessionState", "optimizer", _LATE),
    Members("sql.catalyst.rules.RuleExecutor", "execute", _LATE),
    Members("sql.catalyst.parser.ParserInterface", "parseExpression", _TIME),
    Members(
        "sql.catalyst.plans.logical.LogicalPlan",
        "children collectLeaves isStreaming makeCopy output productArity productElement setAnalyzed transformUp",
    ),
    Members("sql.catalyst.plans.logical.LogicalPlan", "expressions", _TIME),
    Members("sql.catalyst.plans.logical.EventTimeWatermark", "delay eventTime getDelayMs"),
    Members("sql.catalyst.streaming.StreamingRelationV2", "table v1Relation extraOptions sourceName"),
    Members("sql.catalyst.expressions.Expression", "containsPattern deterministic references dataType", _TIME),
    Members("sql.catalyst.trees.TreePattern", "CURRENT_LIKE PLAN_EXPRESSION PYTHON_UDF", _TIME),
    Members("sql.catalyst.expressions.TryEval", _CONSTRUCTED, _TIME),
    Members("sql.classic.ExpressionUtils|sql.Column", "column|expr", _TIME),
    Members("sql.catalyst.expressions.UnsafeProjection", "create", _TIME),
    Members("sql.types.DataType", "typeName", _TIME),
    Members("sql.catalyst.util.DateTimeUtils", "getZoneId", "Alignment(slice_zone=…)"),
    Members("api.python.PythonUtils", "toScalaMap"),
    Members(
        "sql.execution.streaming.runtime.StreamExecution|sql.execution.streaming.StreamExecution",
        "awaitTermination commitLog exception getStartOffsetsOfLatestBatch|committedOffsets id isActive lastExecution"
        " lastProgress logicalPlan name offsetLog outputMode resolvedCheckpointRoot runId sources sparkSession"
        " sparkSessionForStream trigger",
    ),
    Members(
        "sql.execution.streaming.runtime.MicroBatchExecution|sql.execution.streaming.MicroBatchExecution",
        "sourceIdMap",
        _NAMED,
    ),
    Members(
        "sql.execution.streaming.runtime.IncrementalExecution|sql.execution.streaming.IncrementalExecution",
        "currentBatchId",
    ),
    Members(
        "sql.execution.streaming.checkpointing.OffsetSeqLog|sql.execution.streaming.OffsetSeqLog",
        "get getLatest getLatestBatchId",
    ),
    Members("sql.execution.streaming.checkpointing.OffsetSeq|sql.execution.streaming.OffsetSeq", "offsets"),
    Members("sql.execution.streaming.checkpointing.OffsetMap", "offsetsMap", _NAMED),
    Members(
        "sql.execution.streaming.checkpointing.OffsetSeqMetadata|sql.execution.streaming.OffsetSeqMetadata",
        "batchWatermarkMs",
    ),
    Members("sql.execution.streaming.ProcessingTimeTrigger", "intervalMs"),
    Members("sql.execution.streaming.AvailableNowTrigger$", _CONSTRUCTED),
    Members("sql.execution.LogicalRDD", "otherCopyArgs", "gate() in Spark Connect"),
    Members(
        "sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation"
        "|sql.execution.datasources.v2.StreamingDataSourceV2Relation",
        "stream relation|scan",
    ),
    Members("sql.kafka010.KafkaSourceProvider$KafkaTable", "newScanBuilder"),
    Members("sql.kafka010.KafkaSourceProvider$KafkaScan", "options", "the code in a message about an unaligned source"),
    Members(
        "sql.kafka010.KafkaMicroBatchStream",
        "deserializeOffset getDefaultReadLimit initialOffset kafkaOffsetReader latestOffset"
        " prepareForTriggerAvailableNow stop",
    ),
    Members("sql.kafka010.KafkaOffsetReader", "driverKafkaParams"),
    Members("kafka010.KafkaConfigUpdater", "setAuthenticationConfigIfNeeded build"),
    Members("metrics.MetricsSystem", "registerSource removeSource", _GAUGES),
)

JAVA_FILES = {
    "jvm": {
        "StandIn": ALIGN,
        "PlanColumns": ALIGN,
        "DroppedCount": _LATE,
        "LateInputs": _LATE,
        "AlignmentGauges": _GAUGES,
        "DividedRanges": "a batch is divided among all cores",
    },
    "logs": {
        "KafkaLog": ALIGN,
        "KafkaWatch": ALIGN,
        "KafkaSample": "messages about an event_time that fits no record",
    },
}
"""The Java sources that are compiled in the driver, by package, with what is lost without each."""

PYSPARK = ("_gateway", "_jdf", "_jsc", "_jsparkSession", "_jvm", "_origin")
"""The private attributes of PySpark that are used, also by the search for Spark's members."""

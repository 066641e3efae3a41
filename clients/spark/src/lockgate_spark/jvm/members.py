"""The members of Spark that this package uses although they are not public API, as a test compares
with the Python sources. Those used by Java files are found missing when these are compiled.
"""

ALIGN = "align()"
"""The feature that all others need in a classic session."""
_TIME = "Alignment(event_time=…) and gate()"
_LATE = "Alignment(late_rows=…)"
_GAUGES = "gauges in Spark's metrics system"
_ITSELF = ""

_STREAMING = "sql.execution.streaming."

MEMBERS = {
    ALIGN: {
        "sql.(classic.)Dataset": "ofRows queryExecution",
        "sql.(classic.)SparkSession": "sessionState sharedState emptyDataFrame",
        "sql.execution.QueryExecution": "analyzed optimizedPlan executedPlan",
        "sql.internal.SharedState": "activeStreamingQueries",
        "sql.catalyst.plans.logical.LogicalPlan": (
            "children collectLeaves isStreaming makeCopy output productArity productElement setAnalyzed transformUp"
        ),
        "sql.catalyst.plans.logical.EventTimeWatermark": "delay eventTime getDelayMs",
        "sql.catalyst.streaming.StreamingRelationV2": "table v1Relation extraOptions sourceName",
        "api.python.PythonUtils": "toScalaMap",
        _STREAMING + "(runtime.)StreamExecution": (
            "awaitTermination commitLog exception getStartOffsetsOfLatestBatch|committedOffsets id isActive"
            " lastExecution lastProgress logicalPlan name offsetLog outputMode resolvedCheckpointRoot runId sources"
            " sparkSession sparkSessionForStream trigger"
        ),
        _STREAMING + "(runtime.)IncrementalExecution": "currentBatchId",
        _STREAMING + "(checkpointing.)OffsetSeqLog": "get getLatest getLatestBatchId",
        _STREAMING + "(checkpointing.)OffsetSeq": "offsets",
        _STREAMING + "(checkpointing.)OffsetSeqMetadata": "batchWatermarkMs",
        _STREAMING + "ProcessingTimeTrigger": "intervalMs",
        _STREAMING + "AvailableNowTrigger$": _ITSELF,
        "sql.execution.datasources.v2.StreamingDataSourceV2(Scan)Relation": "stream relation|scan",
        "sql.kafka010.KafkaSourceProvider$KafkaTable": "newScanBuilder",
        "sql.kafka010.KafkaMicroBatchStream": (
            "deserializeOffset getDefaultReadLimit initialOffset kafkaOffsetReader latestOffset"
            " prepareForTriggerAvailableNow stop"
        ),
        "sql.kafka010.KafkaOffsetReader": "driverKafkaParams",
        "kafka010.KafkaConfigUpdater": "setAuthenticationConfigIfNeeded build",
    },
    _TIME: {
        "sql.internal.SessionState": "sqlParser",
        "sql.catalyst.parser.ParserInterface": "parseExpression",
        "sql.catalyst.plans.logical.LogicalPlan": "expressions",
        "sql.catalyst.expressions.Expression": "containsPattern deterministic references dataType",
        "sql.catalyst.trees.TreePattern": "CURRENT_LIKE PLAN_EXPRESSION PYTHON_UDF",
        "sql.catalyst.expressions.TryEval": _ITSELF,
        "sql.classic.ExpressionUtils|sql.Column": "column|expr",
        "sql.catalyst.expressions.UnsafeProjection": "create",
        "sql.types.DataType": "typeName",
    },
    _LATE: {"sql.internal.SessionState": "optimizer", "sql.catalyst.rules.RuleExecutor": "execute"},
    _GAUGES: {"metrics.MetricsSystem": "registerSource removeSource"},
    "Alignment(slice_zone=…)": {"sql.catalyst.util.DateTimeUtils": "getZoneId"},
    "gate() in Spark Connect": {"sql.execution.LogicalRDD": "otherCopyArgs"},
    "lags kept in the checkpoint": {"sql.internal.SessionState": "newHadoopConf"},
    "sources with names, readStream.name(…)": {
        _STREAMING + "(runtime.)MicroBatchExecution": "sourceIdMap",
        _STREAMING + "checkpointing.OffsetMap": "offsetsMap",
    },
    "the code in a message about an unaligned source": {"sql.kafka010.KafkaSourceProvider$KafkaScan": "options"},
}
"""By feature, the classes below `org.apache.spark` and their members. What only some versions of
Spark have in a name is in brackets, and `|` separates other names.
"""

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

"""lockgate for Spark: partitions that run ahead in event time wait for those that are behind.

df = lockgate_spark.align(spark.readStream.format("kafka")….load())
"""

from lockgate import __version__ as __version__
from lockgate_http.config import Coordinator
from lockgate_http.errors import (
    AccessDenied,
    AlignmentError,
    ConfigurationError,
    CoordinatorRefused,
    CoordinatorUnavailable,
    Fenced,
    KafkaFailed,
)
from lockgate_http.group.outage import Coordination
from lockgate_spark.align import align, align_all, alignment_of, report_progress, slice_of
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery, WaitedTooLong
from lockgate_spark.gate import gate
from lockgate_spark.jvm.inspection import Diagnosis, SparkMember, doctor
from lockgate_spark.late_rows import late_rows, replay
from lockgate_spark.packages import packages
from lockgate_spark.status import AlignmentStatus, QueryState, status
from lockgate_spark.telemetry.view import BatchAlignment, BatchSlice, PartitionAlignment

__all__ = [
    "AccessDenied",
    "Alignment",
    "AlignmentError",
    "AlignmentStatus",
    "BatchAlignment",
    "BatchSlice",
    "ConfigurationError",
    "Coordination",
    "Coordinator",
    "CoordinatorRefused",
    "CoordinatorUnavailable",
    "Diagnosis",
    "Fenced",
    "KafkaFailed",
    "PartitionAlignment",
    "QueryState",
    "SparkMember",
    "UnsupportedQuery",
    "WaitedTooLong",
    "align",
    "align_all",
    "alignment_of",
    "doctor",
    "gate",
    "late_rows",
    "packages",
    "replay",
    "report_progress",
    "slice_of",
    "status",
]

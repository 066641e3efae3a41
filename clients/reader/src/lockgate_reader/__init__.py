"""lockgate for plain Python services: a Kafka consumer whose partitions stay aligned."""

from lockgate import __version__ as __version__
from lockgate.duration import Duration
from lockgate.flink.strategy import WatermarkStrategy
from lockgate_http.config import Coordinator
from lockgate_http.errors import (
    AccessDenied,
    AlignmentError,
    ConfigurationError,
    CoordinatorRefused,
    CoordinatorUnavailable,
    KafkaFailed,
)
from lockgate_reader.consumer import AlignedConsumer
from lockgate_reader.place import AssignedSplit, NoStartingOffset, ReaderSplit
from lockgate_reader.reading.status import ReaderMode, ReaderStatus

__all__ = [
    "AccessDenied",
    "AlignedConsumer",
    "AlignmentError",
    "AssignedSplit",
    "ConfigurationError",
    "Coordinator",
    "CoordinatorRefused",
    "CoordinatorUnavailable",
    "Duration",
    "KafkaFailed",
    "NoStartingOffset",
    "ReaderMode",
    "ReaderSplit",
    "ReaderStatus",
    "WatermarkStrategy",
]

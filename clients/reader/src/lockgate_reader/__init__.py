"""lockgate for plain Python services: a Kafka consumer whose splits wait for the ones behind."""

from importlib.metadata import version

from lockgate.duration import Duration
from lockgate.flink.strategy import WatermarkStrategy
from lockgate_client.config import Coordinator
from lockgate_client.errors import (
    AccessDenied,
    AlignmentError,
    ConfigurationError,
    CoordinatorRefused,
    CoordinatorUnavailable,
    Fenced,
    KafkaFailed,
)
from lockgate_reader.errors import NoStartingOffset

__version__ = version("lockgate-reader")

__all__ = [
    "AccessDenied",
    "AlignmentError",
    "ConfigurationError",
    "Coordinator",
    "CoordinatorRefused",
    "CoordinatorUnavailable",
    "Duration",
    "Fenced",
    "KafkaFailed",
    "NoStartingOffset",
    "WatermarkStrategy",
]

"""What a replay expects."""

from dataclasses import dataclass
from typing import Any

from flink_replay.adapters.base import Event, Op


@dataclass(frozen=True)
class Expected:
    """One operation, what it should produce and the state after it."""

    op: Op
    out: list[Event]
    state: Any

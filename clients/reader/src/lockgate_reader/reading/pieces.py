"""Records of one split that have gone out at once, with their event times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GoneOut:
    """`times`: an event time for each message, ms; `NO_TIMESTAMP` where it does not take part."""

    key: tuple[str, int]
    messages: Sequence[Any]
    times: Sequence[int]

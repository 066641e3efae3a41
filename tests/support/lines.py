"""Counts the work of steps without a clock."""

import sys
from types import FrameType
from typing import Any

from lockgate.steps import Steps


def lines_of_each_step(steps: Steps[Any]) -> list[int]:
    """How many lines of Python each step runs."""
    found = list[int]()

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        found[-1] += event == "line"
        return trace

    while True:
        found.append(0)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            next(steps)
        except StopIteration:
            return found
        finally:
            sys.settrace(before)

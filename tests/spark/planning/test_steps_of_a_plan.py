"""A plan takes the steps that docs/internals/architecture.md lists, in that order. Only the look
asks Kafka, and draft, cut and filters neither log nor ask for the time.
"""

import logging
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from lockgate_spark.logs.kafka import KafkaSplitLog
from support.members import membership
from support.runs import SourceInMemory
from support.sessions import minutes, session

PAGE = Path(__file__).parents[3] / "docs/internals/architecture.md"
ASK_KAFKA = {"Looker.look", "LogAnswers.add", "Retention.look"}
PURE = {"Draft", "Draft.plan", "Slices.window_aligned", "read_early", "put_off"}

Step = tuple[str, str]
"""A function, and its file."""


def listed() -> list[Step]:
    """The steps of the page's table."""
    section = PAGE.read_text().partition("## The way of one plan\n")[2].partition("\n## ")[0]
    row = r"(?m)^\| \d \| [\w ]+ \| \[`([\w.]+)`\]\([^)]*/src/([^)]*)\) \|"
    return re.findall(row, section)


class Steps:
    """The page's steps in the order of their first calls, and which of them make requests, log, or
    ask for the time.
    """

    def __init__(self) -> None:
        self.called: dict[Step, None] = {}
        self.ask_kafka: set[str] = set()
        self.log_or_look_at_a_clock: set[str] = set()

    def __call__(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "call" and (step := _step(frame)) in STEPS:
            self.called.setdefault(step)
        logs = event == "call" and frame.f_code.co_filename == logging.__file__
        if logs or (event == "c_call" and getattr(function, "__module__", "") == "time"):
            self.log_or_look_at_a_clock.add(_innermost(frame))

    def request(self) -> None:
        """Note which step makes a request."""
        self.ask_kafka.add(_innermost(sys._getframe(1)))


class Counted:
    """Stands before a log and notes its requests."""

    def __init__(self, jvm: Any, steps: Steps) -> None:
        self._jvm, self._steps = jvm, steps

    def __getattr__(self, name: str) -> Any:
        if name not in ("setSplits", "setCredible", "close", "readsCommitted"):
            self._steps.request()
        return getattr(self._jvm, name)


def _step(frame: FrameType) -> Step:
    code, of = frame.f_code, type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else ""
    return f"{of}.{code.co_name}".removeprefix(".").removesuffix(".__init__"), code.co_filename.rpartition("/src/")[2]


def _innermost(frame: FrameType | None) -> str:
    """The step in which a frame is; empty if it is in none."""
    while frame is not None and _step(frame)[0] not in ASK_KAFKA | {name for name, _ in STEPS}:
        frame = frame.f_back
    return "" if frame is None else _step(frame)[0]


STEPS = listed()


def traced(url: str, group: str, **alignment: Any) -> Steps:
    """Trace the second plan of a query in a group, which pauses a partition."""
    steps = Steps()
    source = SourceInMemory({"a-0": minutes(*range(20)), "a-1": minutes(*range(0, 200, 10))}, budget=8)
    source.jvm.config = f"delete\t{14_400_000}\t-1\tCreateTime"
    source.log = KafkaSplitLog(Counted(source.jvm, steps))
    one = session(source, membership=membership(url, group), **alignment)
    ends = one.latest_offset(0, {"a-0": 0, "a-1": 0})
    sys.setprofile(steps)
    try:
        one.latest_offset(0, ends)
    finally:
        sys.setprofile(None)
    one.close()
    return steps


def test_plan_takes_the_listed_steps_in_their_order(url: str, topic: str) -> None:
    assert list(traced(url, topic, slice="1 hour", slice_zone="epoch").called) == STEPS
    assert len(STEPS) == 9


@pytest.mark.parametrize("alignment", [{}, {"slice": "1 hour", "slice_zone": "epoch"}])
def test_only_the_look_asks_kafka_and_steps_behind_it_are_pure(url: str, topic: str, alignment: dict[str, str]) -> None:
    steps = traced(url, topic, **alignment)
    assert steps.ask_kafka - {""} <= ASK_KAFKA
    assert not steps.log_or_look_at_a_clock & PURE

"""Random commands against a second, naive reading of the protocol, written without a look at the
first.
"""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import Refused
from lockgate.group.group import Group, create
from lockgate.group.limits import GroupLimits
from lockgate.group.now import Now
from lockgate.group.reporting import report_all
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import (
    CatchUp,
    GroupConfig,
    Mode,
    OnLostReader,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
)
from support import turns as commands
from support.examples import examples
from support.turns import decide, evaluate

LEASE, TOLERANCE, START = 120, 40, 1_000


@dataclass(frozen=True)
class Step:
    kind: str
    source: str
    subtask: int
    wait: int
    watermark: int
    reach: int | None
    idle: bool
    finished: bool
    epoch_off: int
    ceiling: int | None
    park: int | None


times = st.sampled_from([MIN, 0, 5, 12, 30, 31, 1_000, MAX])
steps = st.builds(
    Step,
    kind=st.sampled_from(["register", "register", "report", "report", "report", "report", "leave", "evict"]),
    source=st.sampled_from("ab"),
    subtask=st.integers(0, 1),
    wait=st.sampled_from([0, 1, 20, 39, 40, 41, 80, 119, 120, 300]),
    watermark=times,
    reach=st.none() | times,
    idle=st.integers(0, 5).map(lambda n: n == 0),
    finished=st.integers(0, 9).map(lambda n: n == 0),
    epoch_off=st.sampled_from([0, 0, 0, 0, 1, -1]),
    ceiling=st.none() | times,
    park=st.sampled_from([None, None, None, 1, 50, 250]),
)
configs = st.builds(
    GroupConfig,
    max_drift_ms=st.sampled_from([0, 10, 2**62, MAX]),
    update_interval_ms=st.just(10),
    lease_ms=st.just(LEASE),
    on_lost_reader=st.sampled_from(OnLostReader),
    mode=st.sampled_from(Mode),
    catch_up=st.sampled_from(CatchUp),
    expected_sources=st.sampled_from([(), (), ("a",), ("a", "b")]),
)


class Model:
    """A group as dicts, one event after the other, everything computed from the start each time."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.readers: dict[tuple[str, int], dict[str, Any]] = {}
        self.seen: set[str] = set()
        self.presented: list[int] = []
        self.last_word: int | None = None

    def ends(self, reader: dict[str, Any]) -> int:
        return int(reader["heard"]) + (LEASE if reader["park"] is None else int(reader["park"]))

    def lost(self, reader: dict[str, Any], now: int) -> bool:
        finished = reader["said"] is not None and reader["said"].finished
        return not finished and now >= self.ends(reader)

    def word(self, now: int) -> None:
        if self.last_word is not None and now - self.last_word > TOLERANCE:
            for reader in self.readers.values():
                finished = reader["said"] is not None and reader["said"].finished
                if finished or reader["excused"] or self.lost(reader, self.last_word):
                    continue
                if self.lost(reader, now):
                    reader["reach_gone"] = True
                left = self.ends(reader) - self.last_word
                reader["heard"] += max(0, min(now - self.last_word, now + min(left, LEASE) - self.ends(reader)))
                reader["excused"] = True
        self.last_word = now

    def register(self, key: tuple[str, int], epoch: int, ceiling: int | None, now: int) -> None:
        self.word(now)
        old = self.readers.get(key)
        reader = {"epoch": epoch, "heard": now, "excused": False, "said": None, "reach_gone": False, "park": None}
        if old is not None:
            lost = self.lost(old, now)
            if not lost or self.config.on_lost_reader is OnLostReader.HOLD:
                reader["said"] = old["said"]
            if not lost and old["park"] is not None:
                reader["park"] = max(LEASE, self.ends(old) - now)
            reader["reach_gone"] = old["reach_gone"] or lost
        self.readers[key] = reader
        if ceiling is not None and now < START + LEASE:
            self.presented.append(ceiling)

    def report(self, key: tuple[str, int], event: ReportedWatermarkEvent, now: int) -> None:
        self.word(now)
        reader = self.readers[key]
        reader.update(heard=now, excused=False)
        spoke = reader["said"] is not None and reader["said"].epoch == event.epoch
        if spoke or event.watermark != MIN or event.idle or event.finished:
            reader.update(said=event, reach_gone=event.park_ms is not None, park=event.park_ms)
        if reader["said"] is not None:
            self.seen.add(key[0])

    def values(self, now: int) -> tuple[int, int]:
        """Return the group's watermark and the ceiling as it would be enforced."""
        if any(source not in self.seen for source in self.config.expected_sources):
            return MIN, MIN
        if not self.seen:
            watermark, ceiling = MIN, MAX
        else:
            marks, reaches = [], []
            for reader in self.readers.values():
                event = reader["said"]
                lost = self.lost(reader, now)
                if event is None or (lost and self.config.on_lost_reader is OnLostReader.EXCLUDE):
                    continue
                mark = MAX if event.idle or event.finished else event.watermark
                marks.append(mark)
                reaches.append(mark if lost or reader["reach_gone"] or event.reach is None else max(mark, event.reach))
            watermark = min(marks, default=MAX)
            ceiling = watermark if watermark in (MIN, MAX) else min(MAX, watermark + self.config.max_drift_ms)
            if self.config.catch_up is CatchUp.JOINT:
                ceiling = max(ceiling, min(reaches, default=MAX))
        if now < START + LEASE:
            ceiling = min([ceiling, *self.presented])
        return watermark, ceiling


def taken(group: Group, model: Model, step: Step, now: int) -> Group:
    """Return the step done to both. Raises `Refused`, with the model as it was, if the step is
    refused.
    """
    key = (step.source, step.subtask)
    if step.kind == "register":
        after = commands.register(
            group, step.source, ReaderRegistrationEvent(subtask=step.subtask, ceiling=step.ceiling), now
        )
        model.register(key, after.readers[key].epoch, step.ceiling, now)
        return after
    if step.kind == "evict":
        after = commands.evict(group, step.source, step.subtask)
        del model.readers[key]
        return after
    epoch = model.readers.get(key, {"epoch": 1})["epoch"] + step.epoch_off
    if step.kind == "leave":
        after = commands.leave(group, step.source, step.subtask, epoch, now)
        model.word(now)
        del model.readers[key]
        return after
    event = ReportedWatermarkEvent(
        subtask=step.subtask,
        epoch=epoch,
        watermark=step.watermark,
        reach=step.reach,
        idle=step.idle,
        finished=step.finished,
        park_ms=step.park,
    )
    after = commands.report(group, step.source, event, now)
    model.report(key, event, now)
    return after


@examples(150)
@given(configs, st.lists(steps, max_size=25))
def test_every_event_is_what_the_naive_model_says(config: GroupConfig, script: list[Step]) -> None:
    group, model, now = create("g", config, START), Model(config), START
    for step in script:
        now += step.wait
        watermark, ceiling = model.values(now)
        decision = decide(group, now)
        assert (decision.group_watermark, decision.ceiling) == (watermark, ceiling)  # by time alone
        try:
            group = taken(group, model, step, now)
        except Refused:
            assert (step.source, step.subtask) not in model.readers or step.epoch_off
        before, (group, event) = group, evaluate(group, now)
        watermark, ceiling = model.values(now)
        observed = config.mode is Mode.OBSERVE
        assert (event.group_watermark, event.max_desired_watermark) == (watermark, MAX if observed else ceiling)
        assert event.would_be == (ceiling if observed else None)
        moved = (before.group_watermark, before.max_desired_watermark) != (
            event.group_watermark,
            event.max_desired_watermark,
        )
        assert event.revision == (max(before.revision + 1, now) if moved else before.revision)


@examples(60)
@given(configs, st.lists(steps, max_size=20))
def test_joint_is_never_below_strict_and_excluded_readers_never_hold(config: GroupConfig, script: list[Step]) -> None:
    group, model, now = create("g", config, START), Model(config), START
    for step in script:
        now += step.wait
        try:
            group = taken(group, model, step, now)
        except Refused:
            continue
        joint, strict = (
            decide(replace(group, config=replace(config, catch_up=how)), now) for how in (CatchUp.JOINT, CatchUp.STRICT)
        )
        assert joint.ceiling >= strict.ceiling
        assert joint.group_watermark == strict.group_watermark
        for key in joint.holders:
            assert config.on_lost_reader is OnLostReader.HOLD or not model.lost(model.readers[key], now)


@pytest.mark.parametrize("off", [-1, 1])
@given(script=st.lists(steps, max_size=10))
@examples(40)
def test_a_stale_command_is_refused_and_leaves_the_group_the_very_same(off: int, script: list[Step]) -> None:
    group, model, now = (
        create("g", GroupConfig(lease_ms=LEASE, update_interval_ms=10), START),
        Model(GroupConfig()),
        START,
    )
    for step in script:
        now += step.wait
        try:
            group = taken(group, model, step, now)
        except Refused:
            continue
    for source, subtask in group.readers:
        event = ReportedWatermarkEvent(subtask=subtask, epoch=group.readers[source, subtask].epoch + off, watermark=0)
        assert report_all(group, [(source, event)], Now(now + 1_000), GroupLimits())[0] is group

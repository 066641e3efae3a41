"""What lanes go by beside Spark: the clocks of the world and of the driver, and checkpoints in both
formats.
"""

import time
from pathlib import Path

import pytest
from seeded.checkpoints import begins, logged
from seeded.clocks import Clocks, driven_by
from seeded.played import Split

from lockgate_spark import Alignment
from lockgate_spark.jvm import stream
from lockgate_spark.jvm.opening import SparkAlignedRun
from support.runs import RunInMemory

HOUR = 3_600_000


def test_a_world_that_moves_on_ends_at_the_machine_s_time() -> None:
    machine = [1_000.0]
    clocks = Clocks(4 * HOUR, machine=lambda: machine[0])
    assert clocks.now() == 1_000_000 - 4 * HOUR
    machine[0] = 2_000.0
    clocks.move_on(4 * HOUR)
    assert clocks.now() == 2_000_000
    assert clocks.of(1_500_000) == 1_500_000 - 4 * HOUR


def test_aligned_runs_take_the_driver_s_clock_and_its_jumps() -> None:
    clocks = Clocks(machine=lambda: 1_000.0)
    with driven_by(clocks):
        assert SparkAlignedRun(Alignment(), RunInMemory()).planner.clock() == 1_000
        clocks.driver_off_ms = 7_000
        assert SparkAlignedRun(Alignment(), RunInMemory()).planner.clock() == stream.time.time() == 1_007
        assert time.time() > 1_000_000, "the rest of the process has the machine's"
    assert stream.time.time() > 1_000_000


@pytest.mark.parametrize(
    ("version", "sources"), [("v1", ['{"p-a":{"0":5}}', "-"]), ("v2", ['1:{"p-b":{"1":7}}', '0:{"p-a":{"0":5}}'])]
)
def test_offsets_are_read_in_both_formats_of_the_log(tmp_path: Path, version: str, sources: list[str]) -> None:
    for folder in ("offsets", "commits", "sources/0"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "offsets" / "0").write_text("\n".join((version, '{"batchWatermarkMs":3}', *sources)))
    (tmp_path / "commits" / "0").touch()
    (tmp_path / "sources" / "0" / "0").write_text('\x00v1\n{"p-a":{"0":2}}')

    def split(source: int, topic: str, partition: str) -> Split:
        return Split(f"{topic}@{source}", int(partition))

    (batch,) = logged(tmp_path, split, {})
    assert batch.watermark == 3
    assert batch.ends == {Split("p-a@0", 0): 5} | ({Split("p-b@1", 1): 7} if version == "v2" else {})
    assert begins(tmp_path, split) == {Split("p-a@0", 0): 2}

"""The parts of the benchmark of scale run, small. The figures are `make bench-scale`'s."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scale import growth, http, pictures, virtual

from lockgate.group import alignment
from support.imports import CHECKOUT

SMALL = virtual.World(groups=2, sources=3, partitions=4, seconds=6)
SIZES = {"groups": (1, 2), "live": (2, 4)}


def ignored(done: int) -> None:
    """Draw no progress."""


def test_virtual_hour_takes_no_time_and_ends_each_wait_in_order() -> None:
    ended = list[float]()

    async def sleeper(seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append(round(asyncio.get_running_loop().time()))

    async def all_of_them() -> None:
        await asyncio.gather(*map(sleeper, (3_600, 60, 600)))

    virtual.in_virtual_time(all_of_them())
    assert ended == [60, 600, 3_600]


def test_readers_in_virtual_time_read_up_to_their_ceilings() -> None:
    found = virtual.measured(SMALL, ignored)
    assert (found["groups"], found["sources"], found["partitions"]) == (2, 6, 24)
    assert found["reports"] >= 6 * 4
    assert found["events"] > 0
    assert found["records"] > 1_000
    assert found["us_a_report"] > found["us_decode"] > 0


def test_ceiling_that_no_report_allows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = alignment.decide

    def too_high(*arguments: Any) -> alignment.Decision:
        decision = shipped(*arguments)
        return replace(decision, ceiling=decision.ceiling + 3_600_000)

    monkeypatch.setattr(alignment, "decide", too_high)
    with pytest.raises(AssertionError, match="ceilings beyond the reports"):
        virtual.measured(SMALL, ignored)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
def test_exponent_is_the_power_with_which_costs_grow(power: float) -> None:
    sizes = (10, 100, 1_000)
    assert growth.exponent(sizes, [3e-6 * size**power for size in sizes]) == pytest.approx(power)


@pytest.mark.parametrize("name", sorted(growth.SWEEPS.keys() - {"advise", "redis", "redis-groups"}))
def test_each_sweep_measures_every_size(name: str) -> None:
    sizes = SIZES.get(name, (10, 200))
    rows = list(growth.measured(name, sizes, 1, ignored))
    assert rows
    for row in rows:
        assert [each["size"] for each in row["costs"]] == list(sizes)
        assert all(each["s"] > 0 for each in row["costs"])
    drawn = [pictures.chart(rows, dark) for dark in pictures.TEMPLATES] if name == "readers" else []
    assert all(len(figure.data) == len(rows) for figure in drawn)


@pytest.mark.long
@pytest.mark.redis
def test_readers_over_http_hear_at_both_processes(redis_server: object) -> None:
    found = http.measured(readers=12, groups=2, partitions=3, every_s=1, seconds=4, progress=ignored)
    assert found["reports_a_second"] > 6
    assert not found["errors"]
    assert {f"{where} process, {kind}" for where in ("own", "other") for kind in ("late", "live")} <= set(
        found["latencies"]
    )
    assert found["cores"].keys() == {"coordinator 1", "coordinator 2", "Redis"}


@pytest.mark.long
@pytest.mark.redis
def test_command_writes_a_line_for_each_figure(tmp_path: Path, redis_server: object) -> None:
    options = ["--sweeps", "redis", "redis-groups", "advise", "--rounds", "1", "--most", "100", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.scale", "growth", *options]
    subprocess.run(command, cwd=CHECKOUT, check=True, timeout=300)
    first, *rows = map(json.loads, (tmp_path / "growth.jsonl").read_text().splitlines())
    assert first["command"].startswith("bench-scale growth")
    assert {row["sweep"] for row in rows} == {"redis", "redis-groups", "advise"}

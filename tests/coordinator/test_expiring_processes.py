"""Coordinators as an operator runs them, whose options let what is dead expire within seconds: one
alone, and two that look through the same Redis.
"""

import json
from collections import Counter
from contextlib import ExitStack

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for

SECONDS = ("--expire-readers", "0.0005", "--expire-groups", "0.0005", "--log-format", "json")
"""1.8 s, in hours."""
CONFIG = {"lease_ms": 500, "update_interval_ms": 100}


def configures(at: CoordinatorProcess, group: str) -> None:
    """A group that does not expire, however long its readers are silent on a busy machine."""
    httpx.put(f"{at.url}/v1/groups/{group}", json=CONFIG, timeout=60).raise_for_status()


def registers(at: CoordinatorProcess, group: str, source: str) -> int:
    """Return the epoch of a reader that brings the group's configuration along."""
    path = f"{at.url}/v1/groups/{group}/sources/{source}/readers"
    answer = httpx.post(path, json={"subtask": 0, "config": CONFIG}, timeout=60)
    return int(answer.raise_for_status().json()["epoch"])


def reports(at: CoordinatorProcess, group: str, source: str, epoch: int) -> None:
    body = {"subtask": 0, "epoch": epoch, "watermark": 5}
    path = f"{at.url}/v1/groups/{group}/sources/{source}/watermarks"
    httpx.post(path, json=body, timeout=60).raise_for_status()


def readers_of(at: CoordinatorProcess, group: str) -> list[str]:
    """Return the sources with a reader."""
    found = httpx.get(f"{at.url}/v1/groups/{group}", timeout=60).raise_for_status().json()
    return [each["source"] for each in found["sources"]]


def groups_of(at: CoordinatorProcess) -> list[str]:
    items = httpx.get(f"{at.url}/v1/groups", timeout=60).raise_for_status().json()["items"]
    return [item["group"] for item in items]


def removals(*processes: CoordinatorProcess) -> Counter[tuple[str, str, str | None]]:
    """The lines of all logs about what has expired: event, group and source."""
    lines = [json.loads(line) for process in processes for line in process.log.read_text().splitlines()]
    return Counter(
        (line["event"], line["group"], line.get("source"))
        for line in lines
        if line.get("event") in ("reader_expired", "group_expired")
    )


def counted(at: CoordinatorProcess, kind: str) -> int:
    """Return what `/metrics` counts of this kind."""
    text = httpx.get(f"{at.url}/metrics", timeout=60).text
    (line,) = (each for each in text.splitlines() if each.startswith(f'lockgate_state_changes_total{{kind="{kind}"}}'))
    return int(float(line.split()[-1]))


def test_a_coordinator_removes_what_its_options_let_expire_and_says_so() -> None:
    with CoordinatorProcess(options=SECONDS) as process:
        for name in ("configured", "half"):
            configures(process, name)
        reports(process, "dead", "a", registers(process, "dead", "a"))
        reports(process, "half", "gone", registers(process, "half", "gone"))
        lives = registers(process, "half", "lives")

        def all_is_removed() -> bool:
            reports(process, "half", "lives", lives)
            return removals(process).total() == 2

        wait_for(all_is_removed, 60)
        assert groups_of(process) == ["configured", "half"]
        assert readers_of(process, "half") == ["lives"]
        assert removals(process) == Counter([("group_expired", "dead", None), ("reader_expired", "half", "gone")])
        assert [counted(process, kind) for kind in ("group_expired", "reader_expired")] == [1, 1]


@pytest.mark.long
@pytest.mark.redis
def test_two_coordinators_remove_and_log_each_dead_reader_and_group_once_and_nothing_that_lives() -> None:
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        first, second = (stack.enter_context(CoordinatorProcess(redis.url, options=SECONDS)) for _ in range(2))
        dead = [f"dead-{n}" for n in range(30)]
        for name in dead:
            reports(first, name, "a", registers(first, name, "a"))
        living = dict[str, int]()
        for name in ("half-0", "half-1"):
            configures(first, name)
            reports(second, name, "gone", registers(second, name, "gone"))
            living[name] = registers(first, name, "lives")

        def all_is_removed() -> bool:
            for at in (first, second):
                for name, epoch in living.items():
                    reports(at, name, "lives", epoch)
            return removals(first, second).total() >= len(dead) + len(living)

        wait_for(all_is_removed, 120)
        for at in (first, second):
            assert groups_of(at) == sorted(living)
            assert {name: readers_of(at, name) for name in living} == {name: ["lives"] for name in living}
        gone = [("group_expired", name, None) for name in dead] + [("reader_expired", name, "gone") for name in living]
        assert removals(first, second) == Counter(gone)
        assert sum(counted(at, "group_expired") for at in (first, second)) == len(dead)
        assert sum(counted(at, "reader_expired") for at in (first, second)) == len(living)

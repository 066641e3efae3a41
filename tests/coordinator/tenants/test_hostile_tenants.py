"""Tenants are isolated: a hostile token does everything that it may, at its rate limit, and another
group's reports stay fast, its leases run on, and its ceiling keeps the rule (`make long`;
LOCKGATE_TENANT_SECONDS for each attack).
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles
from threading import Event

import httpx
import pytest

from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.hostile_tenant import REQUESTS, VICTIM
from support.http_readers import HttpReader

pytestmark = pytest.mark.long

SECONDS = float(os.environ.get("LOCKGATE_TENANT_SECONDS", "15"))
P99_MS = 100.0
"""Beyond the p99 without the hostile tenant, which on a busy machine is not small."""
RATE = 20
"""Requests a second of each token."""
EVERY_S = 0.06
"""How often the living tenant reports: within its own rate."""
READERS, DRIFT, LEASE_MS = 4, 1_000, 2_000
HOSTILE, LIVING = "hostile-token-of-the-tenants-suite-00", "living-token-of-the-tenants-suite-000"
ATTACKS = (*REQUESTS, "exchanges", "streams", "slow_bodies", "all_at_once")
TESTS = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Figures:
    """Of the living tenant's reports, in ms from when each was due."""

    count: int
    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, took_ms: list[float]) -> "Figures":
        cuts = quantiles(took_ms, n=100)
        return cls(len(took_ms), cuts[49], cuts[98], max(took_ms))

    def __str__(self) -> str:
        return f"{self.count} reports, p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, most {self.most:.0f} ms"


class Living:
    """The tenant whose group must not suffer: readers of `checkout` that report in turn."""

    def __init__(self, url: str) -> None:
        headers = {"Authorization": f"Bearer {LIVING}"}
        self._shown = partial(httpx.get, f"{url}/v1/groups/{VICTIM}/sources/orders", headers=headers, timeout=60)
        config = {"max_drift_ms": DRIFT, "catch_up": "strict", "lease_ms": LEASE_MS}
        self._readers = [
            HttpReader(url, VICTIM, "orders", subtask, headers, owner="us", config=config) for subtask in range(READERS)
        ]
        self._watermarks = [0] * READERS
        for subtask in range(READERS):
            self._report(subtask)

    def works(self, seconds: float) -> Figures:
        """Reports when each report is due, and at once where an answer has made it late. So a pause
        of the coordinator shows in every report that it delays.
        """
        took_ms, began, pause = list[float](), time.monotonic(), Event()
        for number in range(int(seconds / EVERY_S)):
            due = began + number * EVERY_S
            if time.monotonic() - began > 2 * seconds:
                break  # it is far behind: what it has shows that
            pause.wait(max(0.0, due - time.monotonic()))
            self._report(number % READERS)
            took_ms.append(1_000 * (time.monotonic() - due))
        return Figures.of(took_ms)

    def lost(self) -> list[str]:
        """Return the states of its readers that are not active."""
        readers = self._shown().raise_for_status().json()["readers"]
        return [reader["state"] for reader in readers if reader["state"] != "active"]

    def _report(self, subtask: int) -> None:
        self._watermarks[subtask] += 10
        ceiling = self._readers[subtask].report(self._watermarks[subtask])["max_desired_watermark"]
        if all(self._watermarks):
            assert ceiling <= min(self._watermarks) + DRIFT, "a ceiling above the rule"


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def coordinator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CoordinatorProcess]:
    """One that both tenants share, over each store."""
    tokens = tmp_path / "tokens.toml"
    both = (
        Token("hostile", digest_of(HOSTILE.encode()), Role.ADMIN, ("evil*",)),
        Token("living", digest_of(LIVING.encode()), Role.ADMIN, (VICTIM,)),
    )
    tokens.write_text("\n".join(map(stanza, both)), encoding="utf-8")
    options = ("--tokens", str(tokens), "--rate-limit", str(RATE), "--log-format", "json")
    if request.param == "memory":
        with CoordinatorProcess(options=options) as started:
            yield started
        return
    with RedisServer() as redis, CoordinatorProcess(redis.url, options=options) as started:
        yield started


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_tenant_delays_nobody_else(coordinator: CoordinatorProcess, attack: str) -> None:
    living = Living(coordinator.url)
    alone = living.works(SECONDS / 3)
    command = [sys.executable, "-m", "support.hostile_tenant", coordinator.url, HOSTILE, attack]
    path = {"PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **path}
    ) as hostile:
        assert hostile.stdout is not None
        assert hostile.stdin is not None
        assert hostile.stdout.readline() == "attacking\n"
        beside = living.works(SECONDS)
        states = living.lost()
        hostile.stdin.close()
        while hostile.poll() is None:  # its end may take longer than a lease
            living.works(4 * EVERY_S)
        answers = hostile.stdout.read()
    afterwards = living.lost()
    lines = [json.loads(line) for line in coordinator.log.read_text(encoding="utf-8").splitlines() if line[:1] == "{"]
    lost = [line for line in lines if line.get("event") == "reader_lost" and line.get("group") == VICTIM]
    statuses = json.loads(answers)
    print(f"\n{attack}: alone {alone}; beside {beside}; the hostile tenant was answered {statuses}")
    assert hostile.returncode == 0
    assert sum(statuses.values()), "the attack did nothing"
    assert (states, afterwards, lost) == ([], [], [])
    assert "500" not in statuses
    assert beside.p99 < P99_MS + alone.p99, beside

"""Made-up readers of a live coordinator, driven over HTTP: sources that drain at different speeds,
wait at the ceiling, stop, are lost.

Their reports are what a Spark driver sends. Time is the machine's; nothing here sleeps but `run`.
"""

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

Json = dict[str, Any]
HOUR = 3_600_000


@dataclass
class Source:
    """One made-up query. `speed`: event ms a ms of wall time; `behind`: ms behind the clock at the
    start; `spread`: how far its splits lie apart, in ms. `silent_after` s it reports no more.
    """

    name: str
    readers: int = 1
    splits: int = 1
    speed: float = 1.0
    behind: int = HOUR
    spread: int = 60_000
    idle: bool = False
    silent_after: float = math.inf
    owner: str = ""
    late_rows: int = 0
    rows_saved: int = 0
    retention_left: int | None = None
    epochs: dict[int, int] = field(default_factory=dict)
    at: float = 0.0
    batch: int = 0

    def step(self, passed_ms: float, ceiling: int, now: float) -> None:
        """Read on for that long, but not above the ceiling."""
        if not self.at:
            self.at = now - self.behind
        before = self.at
        self.at = min(self.at + self.speed * passed_ms, now - 500, max(self.at, ceiling + 0.0))
        self.batch += self.at > before
        self.rows_saved += int(self.rows_saved > 0 and self.at > before) * 37
        if self.retention_left is not None and self.at <= before:
            self.retention_left = max(0, self.retention_left - int(passed_ms))

    def report(self, subtask: int, ceiling: int, turn: int) -> Json:
        """Return the report of one of its readers."""
        splits = {}
        for number in range(self.splits):
            place = (subtask * self.splits + number) * 0.618034 % 1
            wave = 0.5 + 0.5 * math.sin(turn / 9 + 40 * place)
            mark = int(self.at + self.spread * place * (0.35 + 0.65 * wave) * (1 if number or subtask else 0))
            state = "idle" if self.idle else "paused" if mark >= ceiling else "active"
            position = int(max(0.0, mark - 1_700_000_000_000) / 40) % 90_000_000 + number
            splits[f"{self.name}-{subtask * self.splits + number}"] = {
                "watermark": mark,
                "state": state,
                "position": position,
                "end": position + int((self.behind + 60_000) * (0.2 + place)),
            }
        facts = {
            "late_rows": self.late_rows if not subtask else None,
            "rows_saved": self.rows_saved if not subtask else None,
            "retained_until": None if self.retention_left is None else int(time.time() * 1000) + self.retention_left,
            "retention_split": None if self.retention_left is None else f"{self.name}-0",
            "producer_lag_ms": 1_200 + 90 * subtask,
            "event_time_rate": int(1000 * self.speed),
        }
        return {
            "source": self.name,
            "subtask": subtask,
            "epoch": self.epochs[subtask],
            "watermark": int(self.at),
            "idle": self.idle,
            "batch_id": self.batch,
            "splits": splits,
            "facts": {name: value for name, value in facts.items() if value is not None},
        }


@dataclass
class Lively:
    """A group of such sources. `config` is the group's."""

    url: str
    group: str
    sources: list[Source]
    config: Json
    headers: dict[str, str] = field(default_factory=dict)
    every_s: float = 1.0
    whole_every: int = 1
    """In how many reports of a reader its splits are named once; a large group says them seldom."""

    def __post_init__(self) -> None:
        self._http = httpx.Client(base_url=self.url, headers=self.headers, timeout=60)
        self._began = self._last = time.time()
        self._ceilings: dict[str, int] = {}
        self._turn = 0

    def begin(self) -> None:
        """Configure the group and register all readers."""
        self._http.put(f"/v1/groups/{self.group}", json=self.config).raise_for_status()
        for source in self.sources:
            for subtask in range(source.readers):
                body = {
                    "subtask": subtask,
                    "owner": source.owner or f"{source.name}-query",
                    "attributes": {"app": "made up"},
                }
                answer = self._http.post(f"/v1/groups/{self.group}/sources/{source.name}/readers", json=body)
                source.epochs[subtask] = answer.raise_for_status().json()["epoch"]

    def turn(self) -> None:
        """One report of each reader that is not silent."""
        now = time.time()
        passed, self._last = (now - self._last) * 1000, now
        ceiling = self._ceilings.get("max", 2**62)
        reports = []
        for source in self.sources:
            if now - self._began < source.silent_after:
                source.step(passed, ceiling, now * 1000)
                reports += [source.report(subtask, ceiling, self._turn) for subtask in range(source.readers)]
        if self._turn % self.whole_every:
            for report in reports:
                report["splits"] = {}
        answer = (
            self._http.post(f"/v1/groups/{self.group}/watermarks", json={"reports": reports}).raise_for_status().json()
        )
        self._ceilings["max"] = answer["alignment"]["max_desired_watermark"]
        self._turn += 1

    def run(self, until: threading.Event) -> None:
        """Report again and again, in this thread."""
        while not until.wait(self.every_s):
            self.turn()


def shop(url: str, group: str = "shop") -> Lively:
    """20 splits of three sources: one holds, one waits, one is lost after 50 s."""
    sources = [
        Source(
            "orders", splits=8, speed=60, behind=5 * HOUR, spread=400_000, rows_saved=18_204, retention_left=9 * HOUR
        ),
        Source("payments", splits=8, speed=14, behind=5 * HOUR, spread=150_000, rows_saved=2_210, late_rows=3),
        Source(
            "shipments", splits=4, speed=60, behind=5 * HOUR - 120_000, spread=90_000, silent_after=75, rows_saved=31
        ),
    ]
    config = {"max_drift_ms": 600_000, "lease_ms": 20_000, "catch_up": "strict", "on_lost_reader": "exclude"}
    return Lively(url, group, sources, config)


def one(url: str, group: str = "invoices") -> Lively:
    """One split, up with the clock."""
    return Lively(url, group, [Source("invoices", behind=4_000, spread=0)], {"max_drift_ms": 300_000})


def fleet(url: str, group: str = "telemetry", splits: int = 5_000) -> Lively:
    """So many splits of five sources with ten readers each."""
    each = splits // 50
    speeds = {"engine": 30.0, "brakes": 30.0, "climate": 12.0, "position": 30.0, "doors": 30.0}
    sources = [
        Source(name, readers=10, splits=each, speed=speed, behind=3 * HOUR, spread=500_000, rows_saved=100_000)
        for name, speed in speeds.items()
    ]
    config = {"max_drift_ms": 600_000, "lease_ms": 60_000, "catch_up": "strict"}
    return Lively(url, group, sources, config, every_s=3.0)


def others(url: str) -> list[Lively]:
    """Further groups, so that the list has one of each health."""
    return [
        Lively(
            url,
            "ledger",
            [Source("bookings", splits=4, behind=20_000), Source("rates", idle=True)],
            {"max_drift_ms": 600_000},
        ),
        Lively(
            url,
            "ads-clicks",
            [
                Source("clicks", splits=6, speed=25, behind=2 * HOUR),
                Source("views", splits=6, speed=3, behind=2 * HOUR),
            ],
            {"max_drift_ms": 900_000, "mode": "observe"},
        ),
        Lively(
            url,
            "returns",
            [Source("returns", splits=2, behind=HOUR)],
            {"max_drift_ms": 300_000, "expected_sources": ["returns", "refunds"]},
        ),
        Lively(url, "archive", [Source("archive", idle=True)], {"max_drift_ms": 3_600_000}),
    ]


class Running:
    """Groups that report in threads of their own, inside `with`."""

    def __init__(self, *groups: Lively) -> None:
        self._groups = groups
        self._until = threading.Event()

    def __enter__(self) -> "Running":
        for group in self._groups:
            group.begin()
            group.turn()
        self._threads = [threading.Thread(target=group.run, args=[self._until]) for group in self._groups]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._until.set()
        for thread in self._threads:
            thread.join()

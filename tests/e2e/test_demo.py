"""`make demo`, small: its summary's claims are true, its report needs nothing else, and it leaves
nothing behind.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from examples.demo.drift import boundary_drift, leads, peak_drift, peak_lead, position
from examples.demo.history import Batch
from examples.demo.summary import broken_claims

from lockgate.plan.model import Limit
from lockgate.simulate.fleet import aligned as aligned_outcome
from lockgate.simulate.fleet import native as native_outcome
from lockgate_spark import BatchAlignment
from lockgate_testbed import jars
from lockgate_testbed.errors import Missing
from lockgate_testbed.java import java
from lockgate_testbed.skew import HOUR_MS, T0_MS, SkewedTopic
from support.simulated import demo_workload

CHECKOUT = Path(__file__).resolve().parents[2]
# in the environment of all that a demo starts, so that what it leaves behind is found
MARK = "LOCKGATE_DEMO_TEST"
ALONE = {
    "rows_in",
    "rows_counted",
    "rows_lost",
    "spark_reported_dropped",
    "seconds",
    "rows_per_second",
    "peak_drift_ms",
}
RECORDS = 20_000
ENDS_WITHIN_S = 1_800  # on a machine that does other things, too

WHOLE = ("-m", "examples.demo")
# A demo takes its time for its batches, and hardly any for its records. So these demos have no
# warm-up, play the first two acts once instead of twice, and have fewer batches in the third act.
# Fewer in the first two would let plain Spark lose less. The checkpoints use plain files.
FEW_BATCHES = """
import sys
from functools import partial
from examples.demo import acts, spark

def once(stage):
    native = stage.count("native")
    aligned = stage.count("aligned", acts.Alignment(max_drift=acts.MAX_DRIFT))
    return (native, native), (aligned, aligned)

acts.warm_up, acts.native_and_aligned = lambda stage: None, {first_acts}
acts.BATCHES_OF_SLOW = 6
spark.session = partial(spark.session, plain_files=True)
spark.CONF["spark.sql.shuffle.partitions"] = "1"
acts.GROUP_DRIFT, acts.GROUP_DRIFT_MS = "6 hours", 6 * 3_600_000
from examples.demo.__main__ import main
sys.exit(main())
"""
SHORT = ("-c", FEW_BATCHES.format(first_acts="once"))
LAST_ACT = ("-c", FEW_BATCHES.format(first_acts="lambda stage: ()"))

# Three partitions over four hours: a record every 6 minutes, one every 3, and one every 3 from
# 02:00 on.
TOPIC = SkewedTopic("small", weights=(1, 2, 2), records=160, span_hours=4, late_start_hours=2)


def at(ended_at: float, *ends: int) -> Batch:
    return Batch(rows=0, began_at=ended_at - 1, ended_at=ended_at, ends=dict(enumerate(ends)))


def plan(planned_at: float, hours: float) -> BatchAlignment:
    target = T0_MS + int(hours * HOUR_MS)
    return BatchAlignment(target, target, Limit.GROUP, (), (), (), None, (), planned_at, 0.0)


def test_the_topic_of_these_tests_is_what_its_comment_says() -> None:
    assert TOPIC.counts() == [40, 80, 40]
    assert [TOPIC.event_time(partition, 1) - T0_MS for partition in range(3)] == [
        360_000,
        180_000,
        2 * HOUR_MS + 180_000,
    ]


def test_drift_is_between_the_last_records_read_of_splits_that_were_read_and_go_on() -> None:
    # 01:00 and 00:30; nothing was read of the third
    assert boundary_drift(TOPIC, {0: 11, 1: 11, 2: 0}) == 30 * 60_000
    assert boundary_drift(TOPIC, {0: 11, 1: 11, 2: 1}) == 90 * 60_000  # 02:00 and 00:30
    assert boundary_drift(TOPIC, {0: 40, 1: 11, 2: 1}) == 90 * 60_000  # the first one is at its end
    assert boundary_drift(TOPIC, {0: 40, 1: 80, 2: 7}) == 0
    assert boundary_drift(TOPIC, {}) == 0


def test_the_peak_is_that_of_all_boundaries() -> None:
    assert peak_drift(TOPIC, [at(1, 1, 1, 0), at(2, 11, 11, 0), at(3, 40, 80, 40)]) == 30 * 60_000
    assert peak_drift(TOPIC, []) == 0


def test_a_query_stands_just_below_its_first_unread_record() -> None:
    assert position(TOPIC, {}) == T0_MS - 1
    assert position(TOPIC, {0: 10, 1: 40, 2: 0}) == T0_MS + HOUR_MS - 1
    assert position(TOPIC, {0: 40, 1: 80, 2: 0}) == T0_MS + 2 * HOUR_MS - 1
    assert position(TOPIC, {0: 40, 1: 80, 2: 40}) is None


def test_a_plan_is_measured_against_the_batches_that_the_other_has_completed_by_then() -> None:
    # at 01:00, 02:00, all read
    other = [at(10.0, 10, 20, 0), at(20.0, 20, 40, 0), at(30.0, 40, 80, 40)]
    plans = [plan(9.9, 1.0), plan(10.0, 1.5), plan(19.9, 2.5), plan(20.1, 1.5), plan(31.0, 99.0)]
    ahead = [ms for _, ms in leads(TOPIC, plans, other)]

    assert ahead == [
        HOUR_MS + 1,
        HOUR_MS // 2 + 1,
        HOUR_MS * 3 // 2 + 1,
        0,
    ]  # nothing of the last: the other has no records left
    assert peak_lead(TOPIC, plans, other) == HOUR_MS * 3 // 2 + 1
    assert peak_lead(TOPIC, plans, []) == 99 * HOUR_MS + 1  # the other has not begun


def test_spark_s_progress_is_read_whichever_way_it_writes_offsets() -> None:
    progress = {
        "timestamp": "2026-01-02T00:00:00.500Z",
        "numInputRows": 7,
        "durationMs": {"triggerExecution": 1_500},
        "eventTime": {"watermark": "2026-01-01T00:50:00.000Z"},
        "sources": [{"endOffset": {"small": {"0": 3, "1": 4}}}],
        "stateOperators": [{"numRowsDroppedByWatermark": 2}],
    }
    batch = Batch.from_progress(json.dumps(progress))
    progress["sources"] = [{"endOffset": '{"small": {"0": 3, "1": 4}}'}]

    assert batch == Batch.from_progress(json.dumps(progress))
    assert (batch.rows, batch.ends, batch.dropped, batch.watermark_ms) == (7, {0: 3, 1: 4}, 2, T0_MS + 50 * 60_000)
    assert (batch.began_at, batch.ended_at) == (T0_MS / 1000 + 86_400.5, T0_MS / 1000 + 86_402.0)


def test_lost_rows_a_broken_bound_and_unread_records_are_named() -> None:
    whole = {"rows_in": 10, "rows_lost": 0}
    two = {"peak_drift_ms": 5, "max_drift_ms": 5, "rows": {"fast": 10, "slow": 10}}
    good = {"records": 10, "plain_spark": {**whole, "rows_lost": 3}, "aligned": whole, "two_queries": two}
    bad = {
        **good,
        "aligned": {**whole, "rows_lost": 1},
        "two_queries": {**two, "peak_drift_ms": 6, "rows": {"fast": 10, "slow": 9}},
    }

    assert broken_claims(good) == []
    assert [line.split()[1] for line in broken_claims(bad)] == ["aligned", "plan", "slow"]


@pytest.mark.kafka
@pytest.mark.parametrize("program", [SHORT, pytest.param(WHOLE, marks=pytest.mark.long)], ids=["short", "whole"])
def test_the_demo_keeps_its_claims_and_leaves_nothing_behind(tmp_path: Path, program: Sequence[str]) -> None:
    with demo(tmp_path, RECORDS, program, *(["--dashboard"] if program is SHORT else [])) as process:
        assert process.stdout is not None
        out = ""
        if program is SHORT:
            out = "".join(iter_until(process.stdout, "the dashboard stays at "))
            url = out.rpartition("the dashboard stays at ")[2].split()[0]
            assert "text/html" in httpx.get(url, timeout=60).headers["content-type"]
            (group,) = httpx.get(f"{url}v1/groups", timeout=60).json()["items"]
            assert f"live in a browser: {url}#/groups/{group['group']}" in out
            process.send_signal(signal.SIGINT)
        out += process.communicate(timeout=ENDS_WITHIN_S)[0]

    assert process.returncode == 0, out
    assert ("make demo ARGS=--dashboard" in out) is (program is WHOLE)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert left_behind(tmp_path) == []
    check_claims(summary, records=RECORDS)
    check_against_simulation(summary)
    assert what_it_loads((tmp_path / "report.html").read_text(encoding="utf-8")) == []


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.parametrize(("line", "signum"), [("loading records", signal.SIGTERM), ("  fast: ", signal.SIGINT)])
def test_a_signal_stops_everything_that_was_started(tmp_path: Path, line: str, signum: signal.Signals) -> None:
    # The second line is printed from within a batch, while the other query runs or waits.
    with demo(tmp_path, records=RECORDS, program=LAST_ACT) as process:
        assert process.stdout is not None
        printed = "".join(iter_until(process.stdout, line))
        process.send_signal(signum)
        printed += process.communicate(timeout=ENDS_WITHIN_S)[0]

    assert process.returncode == 128 + signum, printed
    assert "Traceback" not in printed, printed
    assert left_behind(tmp_path) == []


def check_against_simulation(summary: dict[str, Any]) -> None:
    """What the advisor would have said of these queries is what they came to."""
    workload = demo_workload(summary["records"])
    for measured, simulated in (
        (summary["plain_spark"], native_outcome(workload)),
        (summary["aligned"], aligned_outcome(workload, summary["max_drift_ms"])),
    ):
        assert simulated.lost == pytest.approx(measured["rows_lost"], rel=0.1)
        assert simulated.peak_drift_ms == pytest.approx(measured["peak_drift_ms"], rel=0.1)


def check_claims(summary: dict[str, Any], records: int) -> None:
    native, aligned, two = summary["plain_spark"], summary["aligned"], summary["two_queries"]
    assert summary["records"] == native["rows_in"] == aligned["rows_in"] == records
    assert native.keys() >= ALONE
    assert aligned.keys() >= ALONE
    assert {"pyspark", "kafka", "lockgate-spark"} <= summary["versions"].keys()
    assert f"--records {records}" in summary["command"]
    assert native["rows_lost"] > 0.1 * records
    assert (aligned["rows_lost"], aligned["spark_reported_dropped"]) == (0, 0)
    assert aligned["peak_drift_ms"] < summary["max_drift_ms"] < native["peak_drift_ms"]
    assert two["rows"] == {"fast": records, "slow": records}
    assert 0 < two["peak_drift_ms"] <= two["max_drift_ms"]
    assert two["seconds"].keys() == {"fast", "slow"}


@contextmanager
def demo(out: Path, records: int, program: Sequence[str], *more: str) -> Iterator["subprocess.Popen[str]"]:
    """A demo in a process of its own, with everything that it starts marked."""
    _needs_java_and_jars()
    command = [sys.executable, *program, "--records", str(records), "--out", str(out), *more]
    marked = {**os.environ, MARK: str(out)}
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=marked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # a test that failed on the way; its children go with it


def iter_until(lines: Iterator[str], wanted: str) -> Iterator[str]:
    """Lines up to the first that holds `wanted`. Fails where there is none."""
    for line in lines:
        yield line
        if wanted in line:
            return
    pytest.fail(f"ended without a line with {wanted!r}")


def left_behind(mark: Path) -> list[str]:
    """The command lines of processes that carry a demo's mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it has just ended, or is somebody else's
    return found


class _Loads(HTMLParser):
    """Collects all that a page would load when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"
        self.found += [
            f"{tag} {key}={value}" for key, value in attrs if key in ("src", "href", "srcset", "data") and value
        ]

    def handle_data(self, data: str) -> None:
        if self._style and ("@import" in data or "url(" in data):
            self.found.append(data)


def what_it_loads(page: str) -> list[str]:
    # and the browser is told so, whatever the plotting code would like to fetch
    assert "default-src 'none'" in page
    parser = _Loads()
    parser.feed(page)
    return parser.found


def _needs_java_and_jars() -> None:
    try:
        java()
        jars.kafka_broker()
        jars.kafka_connector()
    except Missing as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must not leave this out: {missing}", pytrace=False)
        pytest.skip(str(missing))

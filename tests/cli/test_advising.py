"""`lockgate simulate` and `lockgate advise`, as somebody calls them."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.testing import CliRunner, Result

from lockgate_cli import advising
from lockgate_cli.__main__ import cli
from lockgate_cli.client import Fault
from lockgate_cli.group_loads import Given, GroupLook, load_of, paces_of
from lockgate_testbed.coordinator import CoordinatorProcess
from support.http_readers import HttpReader

MINUTE, HOUR = 60_000, 3_600_000
T0 = 1_767_225_600_000
NOW = T0 + 10 * HOUR
# Two splits of a day each, of which one begins six hours late: native Spark loses rows.
SKEWED: dict[str, Any] = {
    "queries": {
        "orders": {
            "delay": "10 minutes",
            "window": "1 hour",
            "max_offsets_per_trigger": 2_000,
            "partitions": [
                {"records": 4_000, "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "count": 2},
                {"records": 8_000, "from": "2026-01-01T06:00:00Z", "to": "2026-01-02T00:00:00Z"},
            ],
        }
    }
}
GIVEN = Given(delay_ms=10 * MINUTE, window_ms=0, overhead_ms=100, trigger_ms=0, records_per_second=None)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def described(path: Path, **changed: Any) -> str:
    text = json.loads(json.dumps(SKEWED))
    text["queries"]["orders"] |= changed
    file = path / "workload.yaml"
    file.write_text(yaml.safe_dump(text))
    return str(file)


def test_a_described_workload_gives_a_table_and_the_advice(tmp_path: Path) -> None:
    done = call("simulate", described(tmp_path), "--max-drift", "1min, 10 minutes")
    assert done.exit_code == 0, done.output
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[1:4]] == ["plain Spark", "1 min", "10 min"]
    assert "Plain Spark loses 1,002 of 16,000 rows" in done.stdout
    assert "Take max_drift 1 min: it loses no row, at " in done.stdout


def test_programs_get_the_figures(tmp_path: Path) -> None:
    path = described(tmp_path)
    found = json.loads(call("simulate", path, "--max-drift", "5min", "--output", "json").stdout)
    assert found == yaml.safe_load(call("simulate", path, "--max-drift", "5min", "--output", "yaml").stdout)
    assert found["plain_spark"]["lost"] > 0
    assert [(each["max_drift_ms"], each["lost"], each["rows"]) for each in found["aligned"]] == [
        (5 * MINUTE, 0, 16_000)
    ]
    assert found["advised_max_drift_ms"] == 5 * MINUTE


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"delai": "10min"}, "unknown field `delai` - at `$.queries"),
        ({"delay": "soon"}, "'soon' is no duration"),
        ({"partitions": []}, "query orders: it reads no partition"),
        ({"partitions": [{"records": "many", "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}]}, "`int`"),
        (
            {"partitions": [{"records": 1, "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}]},
            "must not go back",
        ),
        ({"records_per_second": 0}, "records_per_second: must be above 0"),
    ],
)
def test_a_file_that_describes_no_workload_is_refused_with_the_place(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    done = call("simulate", described(tmp_path, **changed))
    assert done.exit_code == 1
    assert said in done.stderr.replace("\n", " ")
    assert "workload.yaml describes no workload" in done.stderr


def test_a_drift_that_cannot_be_and_a_file_that_is_no_yaml_are_refused(tmp_path: Path) -> None:
    assert "is no duration" in call("simulate", described(tmp_path), "--max-drift", "1min,").stderr
    refused = call("simulate", described(tmp_path, max_out_of_orderness="5min"), "--max-drift", "5min")
    assert (refused.exit_code, "greater than the out-of-orderness of query orders" in refused.stderr) == (1, True)
    (tmp_path / "no.yaml").write_text("queries: {")
    assert "no.yaml is no YAML" in call("simulate", str(tmp_path / "no.yaml")).stderr


def test_a_report_that_knows_no_event_times_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"schema": "another"}))
    done = call("simulate", str(file), "--observed")
    assert (done.exit_code, "is not a report of a run in observe mode" in done.stderr) == (1, True)


# -- a living group --


def reader(watermarks: dict[str, tuple[int, int, int]], batch: int, lag: int | None = None) -> dict[str, Any]:
    """Return a reader as inspection shows it. `watermarks`: watermark, position and end of each
    split.
    """
    splits = {name: {"watermark": w, "position": p, "end": e} for name, (w, p, e) in watermarks.items()}
    return {"subtask": 0, "batch_id": batch, "facts": {"producer_lag_ms": lag}, "splits": splits}


def looks(*readers: dict[str, Any], seconds: int = 10) -> tuple[GroupLook, GroupLook]:
    first, second = readers
    return GroupLook(NOW - seconds * 1_000, {"orders": [first]}), GroupLook(NOW, {"orders": [second]})


def test_two_looks_give_density_speed_and_batches() -> None:
    first, second = looks(
        reader({"a": (T0, 1_000, 9_000), "b": (T0, 0, 500)}, batch=4),
        reader({"a": (T0 + HOUR, 3_000, 9_000), "b": (T0 + HOUR, 100, 500)}, batch=6),
    )
    workload, _ = load_of("g", {}, first, second, GIVEN, {})
    (query,) = workload.queries
    # a: 2,000 records an hour, 6,000 left. b: 100 an hour, 400 left.
    spans = {s.name: (s.records, s.stretches[0].end - s.stretches[0].first, s.lag_ms) for s in query.splits}
    assert spans == {"a": (6_000, 3 * HOUR, None), "b": (400, 4 * HOUR, None)}
    assert query.budget == 2_100 // 2
    assert query.records_per_second == pytest.approx(2_100 / (10 - 2 * 0.1))
    assert workload.begin == NOW


def test_a_source_that_waited_reads_as_fast_as_its_history_shows() -> None:
    first, second = looks(reader({"a": (T0, 0, 9_000)}, 1), reader({"a": (T0 + HOUR, 1_000, 9_000)}, 2))

    def sample(at: int, watermark: int) -> dict[str, Any]:
        return {"at": at, "sources": {"orders": {"watermark": watermark}}}

    history = [sample(0, T0 - 9 * HOUR), sample(1_000, T0 - 2 * HOUR), sample(2_000, T0 - HOUR), sample(12_000, T0)]
    assert paces_of(history) == {"orders": 7 * HOUR / 1_000}
    paces = paces_of(history, since=500)
    assert paces == {"orders": HOUR / 1_000}, "what was before the last configuration does not count"
    workload, assumed = load_of("g", {}, first, second, GIVEN, paces)
    assert workload.queries[0].records_per_second == pytest.approx(1_000)
    assert "orders reads 1,000 records a second, by the fastest rise of its watermark in the samples." in assumed


def test_producers_that_append_go_on_for_an_hour_with_their_lag() -> None:
    lag = 5 * MINUTE
    first, second = looks(
        reader({"a": (NOW - lag - 11_000, 100, 100)}, batch=1, lag=lag),
        reader({"a": (NOW - lag - 1_000, 200, 200)}, batch=2, lag=lag),
    )
    (query,) = load_of("g", {}, first, second, GIVEN, {})[0].queries
    (split,) = query.splits
    assert (split.records, split.lag_ms) == (100 * 360, lag)
    assert split.stretches[-1].end - split.stretches[-1].first == HOUR


def test_a_group_that_stands_still_is_told_to_be_assumed() -> None:
    still = reader({"a": (T0, 0, 9_000)}, batch=1)
    workload, assumed = load_of("g", {}, *looks(still, still), GIVEN, {})
    assert "No partition of orders has moved" in " ".join(assumed)
    assert "orders reads 100,000 records a second, for nothing tells." in assumed
    assert workload.queries[0].splits[0].stretches[0].end == NOW
    with pytest.raises(Fault, match="no reader of group g reports partitions with positions"):
        load_of("g", {}, *looks(reader({}, 1), reader({}, 2)), GIVEN, {})


def test_a_living_group_is_watched_and_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    with CoordinatorProcess() as coordinator:
        config = {"max_drift_ms": 2 * HOUR, "lease_ms": 600_000}
        httpx.put(f"{coordinator.url}/v1/groups/g", json=config, timeout=60).raise_for_status()
        readers = {name: HttpReader(coordinator.url, "g", name) for name in ("orders", "payments")}

        def report(hours: int, batch: int) -> None:
            for number, (name, each) in enumerate(readers.items()):
                at, read = T0 + hours * HOUR, 1_000 * hours * (number + 1)
                split = {"watermark": at, "state": "active", "position": read, "end": 24_000 * (number + 1)}
                each.report(at, splits={f"{name}-0": split}, batch_id=batch)

        report(1, 1)
        monkeypatch.setattr(advising, "_wait", lambda seconds, advance: report(3, 3))
        done = call("advise", "g", "--delay", "1h", "--url", coordinator.url, "--output", "json")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["plain_spark"]["rows"] == 21_000 + 42_000
        assert found["advised_max_drift_ms"] is not None
        assert all(each["lost"] == 0 for each in found["aligned"])
        assert "The group has 2 h now." in found["advice"]
        assert any("--delay and --window set them" in each for each in found["assumed"])
        missing = call("advise", "h", "--url", coordinator.url)
        assert (missing.exit_code, "g" in missing.stderr) == (1, True)

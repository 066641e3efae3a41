"""When each alert fires and when it does not, by promtool's own unit tests; and the files around
the alerts.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.imports import CHECKOUT
from support.observability import ALERTS, BOARD, FOLDER, SCRAPING, alerts, board, board_expressions, read

RUNBOOKS = (CHECKOUT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
METRICS = (CHECKOUT / "docs" / "monitoring.md").read_text(encoding="utf-8")
OF_GROUP = 'group="g"'
OF_SOURCE = 'group="g",source="s"'
LOST = f"lockgate_source_lost_readers_total{{{OF_SOURCE}}}"
BEHIND = f"lockgate_group_watermark_timestamp_seconds{{{OF_GROUP}}}"
WAITING = f"lockgate_source_waiting_readers{{{OF_SOURCE}}}"
LATE = f"lockgate_source_late_rows_total{{{OF_SOURCE}}}"
LEFT = f"lockgate_source_retention_left_seconds{{{OF_SOURCE}}}"
ASSIGNED = ("lockgate_source_assigned_splits{{" + OF_SOURCE + ',state="{}"}}').format
CHANGED = 'lockgate_state_changes_total{{kind="{}"}}'.format
UP = 'up{job="lockgate",instance="a"}'
OTHER = 'up{job="lockgate",instance="b"}'
REJECTED = "lockgate_rejections_total{{type={}}}".format

Series = dict[str, str]
CASES: list[tuple[str, bool, Series]] = [
    ("LockgateCoordinatorDown", True, {UP: "1x5 0x30", OTHER: "1x35"}),
    ("LockgateCoordinatorDown", False, {UP: "1x35", OTHER: "1x35"}),
    ("LockgateNoCoordinator", True, {UP: "1x5 0x30"}),
    ("LockgateNoCoordinator", True, {}),
    ("LockgateNoCoordinator", False, {UP: "0x35", OTHER: "1x35"}),
    ("LockgateStoreDown", True, {"lockgate_store_up": "1x20 0x15"}),
    ("LockgateStoreDown", False, {"lockgate_store_up": "1x29 0x0 1x5"}),
    ("LockgateRequestsRefused", True, {REJECTED('"unauthorized"'): "0+1x35"}),
    ("LockgateRequestsRefused", False, {REJECTED('"unauthorized"'): "7x35"}),
    ("LockgateRequestsRefused", False, {REJECTED('"stale-epoch"'): "0+1x35"}),
    ("LockgateGroupUnreadable", True, {"lockgate_groups_unreadable": "0x5 2x30"}),
    ("LockgateGroupUnreadable", False, {"lockgate_groups_unreadable": "0x35"}),
    ("LockgateGroupsLeftOut", True, {"lockgate_groups_left_out": "1x35"}),
    ("LockgateGroupsLeftOut", False, {"lockgate_groups_left_out": "0x35"}),
    ("LockgateReaderLost", True, {LOST: "0x28 1x7"}),
    ("LockgateReaderLost", False, {LOST: "0x5 1x30"}),
    ("LockgateReaderOverdue", True, {f"lockgate_source_overdue_readers{{{OF_SOURCE}}}": "0x5 1x30"}),
    ("LockgateReaderOverdue", False, {f"lockgate_source_overdue_readers{{{OF_SOURCE}}}": "0x35"}),
    ("LockgateSourcesMissing", True, {f"lockgate_group_missing_sources{{{OF_GROUP}}}": "1x35"}),
    ("LockgateSourcesMissing", False, {f"lockgate_group_missing_sources{{{OF_GROUP}}}": "1x10 0x25"}),
    ("LockgateGroupStuck", True, {BEHIND: "5x35", WAITING: "1x35"}),
    ("LockgateGroupStuck", False, {BEHIND: "5x35", WAITING: "0x35"}),
    ("LockgateGroupStuck", False, {BEHIND: "5x22 6x13", WAITING: "1x35"}),
    ("LockgateGroupBehind", True, {BEHIND: "-3601+60x35"}),
    ("LockgateGroupBehind", False, {BEHIND: "-3600+60x35"}),
    ("LockgatePartitionsUnread", True, {ASSIGNED("unassigned"): "0x20 3x15"}),
    ("LockgatePartitionsUnread", False, {ASSIGNED("unassigned"): "0x27 3x8"}),
    ("LockgatePartitionsUnread", False, {ASSIGNED("assigned"): "3x35", ASSIGNED("missing"): "1x35"}),
    ("LockgatePartitionsHistoryLost", True, {CHANGED("partitions_history_lost"): "0x25 1x10"}),
    ("LockgatePartitionsHistoryLost", False, {CHANGED("partitions_history_lost"): "0x5 1x30"}),
    ("LockgatePartitionsHistoryLost", False, {CHANGED("partitions_assigned"): "0+1x35"}),
    ("LockgateRetentionNear", True, {LEFT: "3500-60x35"}),
    ("LockgateRetentionNear", False, {LEFT: "3600x35"}),
    ("LockgateLateRows", True, {LATE: "0x25 3x10"}),
    ("LockgateLateRows", False, {LATE: "0x5 3x30"}),
]
"""Alert, whether it fires after `EVALUATED`, and the series, a value a minute."""
EVALUATED = "30m"


def in_promtool(promtool: str, folder: Path, series: Series, **checks: Any) -> "subprocess.CompletedProcess[str]":
    """One unit test of promtool, over all alerts."""
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    test = {"interval": "1m", "input_series": inputs, **checks}
    file = folder / "test.yml"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": [test]}), encoding="utf-8")
    return subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("alert", "fires", "series"), CASES)
def test_an_alert_fires_when_it_is_to_and_never_else(
    promtool: str, tmp_path: Path, alert: str, fires: bool, series: Series
) -> None:
    check = {
        "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})',
        "eval_time": EVALUATED,
        "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
    }
    done = in_promtool(promtool, tmp_path, series, promql_expr_test=[check])
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested_for_when_it_fires_and_for_when_it_does_not() -> None:
    names = {alert["alert"] for alert in alerts()}
    assert {(alert, fires) for alert, fires, _ in CASES} == {(name, fires) for name in names for fires in (True, False)}


def test_an_alert_says_which_source_of_which_group_and_how_long_it_has(promtool: str, tmp_path: Path) -> None:
    expected = {
        "exp_labels": {"severity": "critical", "group": "g", "source": "s"},
        "exp_annotations": {
            "summary": "Kafka deletes unread records of s in group g in 28m 20s",
            "description": (
                "A paused partition has not read them. Set the bound to less than the retention of your topics."
            ),
            "runbook_url": "docs/troubleshooting.md#lockgateretentionnear",
        },
    }
    check = {"alertname": "LockgateRetentionNear", "eval_time": EVALUATED, "exp_alerts": [expected]}
    done = in_promtool(promtool, tmp_path, {LEFT: "3500-60x35"}, alert_rule_test=[check])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("what", [("rules", ALERTS), ("config", "--syntax-only", SCRAPING)], ids=["rules", "config"])
def test_promtool_finds_no_fault(promtool: str, what: tuple[str, ...]) -> None:
    done = subprocess.run([promtool, "check", *map(str, what)], capture_output=True, text=True, check=False)
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stdout + done.stderr


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    names = [alert["alert"] for alert in alerts()]
    assert re.findall(r"^#+ (Lockgate\w+)$", RUNBOOKS, re.MULTILINE) == names
    severities = [alert["labels"]["severity"] for alert in alerts()]
    assert [each.lower() for each in re.findall(r"^### Lockgate\w+\n\*\*(\w+)", RUNBOOKS, re.MULTILINE)] == severities
    for alert in alerts():
        assert alert["annotations"]["runbook_url"] == f"docs/troubleshooting.md#{alert['alert'].lower()}"
        assert {"summary", "description"} <= alert["annotations"].keys()
        assert alert["labels"]["severity"] in ("critical", "warning", "info")


def test_board_and_alerts_ask_only_for_metrics_that_are_on_the_page() -> None:
    asked = [expression for _, expression in board_expressions("g")] + [alert["expr"] for alert in alerts()]
    metrics = {name for each in asked for name in re.findall(r"lockgate_[a-z_]+", each)}
    assert len(metrics) > 25
    assert [name for name in metrics if f"`{name.removesuffix('_bucket')}`" not in METRICS] == []


def test_each_panel_is_explained_and_asks_the_provisioned_data_source() -> None:
    (source,) = read(FOLDER / "grafana" / "datasources" / "prometheus.yml")["datasources"]
    panels = [panel for panel in board()["panels"] if panel["type"] != "row"]
    assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}
    assert [panel["title"] for panel in panels if not panel["description"]] == []
    assert len({panel["id"] for panel in board()["panels"]}) == len(board()["panels"])
    (variable,) = board()["templating"]["list"]
    assert (variable["name"], variable["datasource"]["uid"]) == ("group", source["uid"])


def test_no_two_panels_of_the_board_overlap() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in board()["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for place in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert taken.setdefault(place, panel["title"]) == panel["title"]


def test_the_profile_mounts_what_prometheus_and_grafana_read() -> None:
    services = read(CHECKOUT / "docker-compose.yml")["services"]
    grafana, prometheus = services["grafana"], services["prometheus"]
    (provider,) = read(FOLDER / "grafana" / "dashboards" / "boards.yml")["providers"]
    mounted, _, inside = next(each for each in grafana["volumes"] if each.startswith("./")).partition(":")
    inside = inside.removesuffix(":ro")
    assert BOARD.relative_to(CHECKOUT / mounted).parts[0] == Path(provider["options"]["path"]).name
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{inside}/{BOARD.relative_to(CHECKOUT / mounted)}"
    assert f"./{SCRAPING.parent.relative_to(CHECKOUT)}:/etc/lockgate:ro" in prometheus["volumes"]
    script = prometheus["command"][0]
    (job,) = read(SCRAPING)["scrape_configs"]
    assert f"--config.file=/etc/lockgate/{SCRAPING.name}" in script
    assert f">{job['authorization']['credentials_file']}" in script
    assert read(SCRAPING)["rule_files"] == [ALERTS.name]
    (source,) = read(FOLDER / "grafana" / "datasources" / "prometheus.yml")["datasources"]
    assert source["url"] == "http://prometheus:9090"


@pytest.mark.parametrize("name", ["prometheus", "grafana"])
def test_each_service_is_pinned_confined_and_seen_only_by_this_machine(name: str) -> None:
    service = read(CHECKOUT / "docker-compose.yml")["services"][name]
    assert service["profiles"] == ["observability"]
    assert re.fullmatch(r"\w+/\w+:v?\d+\.\d+\.\d+", service["image"])
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "networks" not in service, "Redis sees the coordinators and nobody else"

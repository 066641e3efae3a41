"""Every expression of the Grafana board, and every alert, against a real Prometheus. It scrapes two
coordinators over one Redis, to which two sources report. Grafana itself is not needed.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
import yaml

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.split_codec import split_to_text
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.prometheus import PrometheusServer
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.observability import ALERTS, SCRAPING, alerts, board_expressions, read

GROUP = "shop"
LEASE_MS = 2_000
RULES = {"max_drift_ms": 5_000, "lease_ms": LEASE_MS, "catch_up": "strict", "max_wait_ms": 60_000}
EXPRESSIONS = list(board_expressions(GROUP))


def configuration(folder: Path, *coordinators: str, token: str = "") -> None:
    """As in the image, but for the coordinators' addresses, the token's place, and the pace."""
    found = read(SCRAPING)
    (job,) = found["scrape_configs"]
    assert job.pop("dns_sd_configs") == [
        {"names": ["coordinator"], "type": "A", "port": 8080, "refresh_interval": "10s"}
    ]
    job["static_configs"] = [{"targets": [url.removeprefix("http://") for url in coordinators]}]
    (folder / "token").write_text(token, encoding="utf-8")
    job["authorization"]["credentials_file"] = str(folder / "token")
    found["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(found), encoding="utf-8")
    (folder / "alerts.yml").write_text(ALERTS.read_text(encoding="utf-8"), encoding="utf-8")


class Sources:
    """Two sources whose readers report again and again, each to another coordinator, and a third
    one until it is gone.
    """

    def __init__(self, *urls: str) -> None:
        self.clients = [httpx.Client(base_url=f"{url}/v1/groups", timeout=60) for url in urls]
        self.http = self.clients[0]
        self.http.put(f"/{GROUP}", json=RULES).raise_for_status()
        self.epochs = {source: self._registered(source) for source in ("orders", "payments", "ghost")}
        now = int(self.http.get(f"/{GROUP}").json()["now"])
        self.ghost_is_gone, self._ended = Event(), Event()
        self._thread = Thread(target=self._go_on, args=(now - 60_000,))
        self._thread.start()

    def _registered(self, source: str) -> int:
        return int(self._post(f"{source}/readers", {"subtask": 0}).raise_for_status().json()["epoch"])

    def report(self, source: str, watermark: int, **more: Any) -> None:
        body = {"subtask": 0, "epoch": self.epochs[source], "watermark": watermark, **more}
        self._post(f"{source}/watermarks", body).raise_for_status()

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        client = self.clients[-1] if path.startswith("payments") else self.clients[0]
        return client.post(f"/{GROUP}/sources/{path}", json=body)

    def _go_on(self, first: int) -> None:
        """`payments` waits at the ceiling, with a paused split; `orders` holds it, and loses
        rows.
        """
        held: list[dict[str, Any]] = []
        answered: dict[str, Any] = {}
        listed = {"splits": [split_to_text(KafkaPartitionSplit("payments", 0))]}
        for step in count():
            said = {"epoch": self.epochs["payments"], "held": held, "discovery_interval_ms": 0, **answered}
            told = self._post("payments/readers/0/splits", said).raise_for_status().json()
            held += told["add_splits"]
            answered = {"discovered": {**listed, "request": told["discover"]}} if told["discover"] else {}
            split = {"state": "paused", "position": step, "end": 900, "watermark": first + 10_000}
            facts = {"retained_until": first + 120_000, "retention_split": "payments-0", "event_time_rate": 0}
            self.report("payments", first + 10_000, splits={"payments-0": split}, facts=facts)
            slow = {"late_rows": step, "rows_saved": 7 * step, "producer_lag_ms": 1_500, "event_time_rate": 10}
            self.report("orders", first + step, facts=slow)
            self._post("nobody/watermarks", {"subtask": 0, "epoch": 1, "watermark": 1})
            if not self.ghost_is_gone.is_set():
                self.report("ghost", first)
            if self._ended.wait(0.2):
                return

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        for client in self.clients:
            client.close()


class Asked:
    """A Prometheus, asked by HTTP."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/api/v1", timeout=60)

    def query(self, expression: str) -> list[Any]:
        answer = self.http.get("/query", params={"query": expression}).json()
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    def rules(self) -> dict[str, Any]:
        groups = self.http.get("/rules").json()["data"]["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}


@pytest.fixture(scope="module")
def prometheus(promtool: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """It has scraped the coordinators from before the reader `ghost` was lost."""
    folder = tmp_path_factory.mktemp("prometheus")
    with RedisServer() as redis, CoordinatorProcess(redis.url) as one, CoordinatorProcess(redis.url) as other:
        configuration(folder, one.url, other.url)
        with PrometheusServer(folder) as server:
            asked, sources = Asked(server.url), Sources(one.url, other.url)
            try:
                lost = f'lockgate_source_lost_readers_total{{group="{GROUP}",source="ghost"}}'
                wait_for(lambda: len(asked.query(lost)) == 2)  # one of each coordinator: an increase begins there
                sources.ghost_is_gone.set()
                wait_for(lambda: asked.query(f"{lost} > 0"))
                yield asked
            finally:
                sources.close()


@pytest.mark.parametrize(
    ("panel", "expression"), EXPRESSIONS, ids=[f"{at} {p}" for at, (p, _) in enumerate(EXPRESSIONS)]
)
def test_every_expression_of_the_board_gives_data(prometheus: Asked, panel: str, expression: str) -> None:
    def has_figures() -> bool:
        """NaN is what a rate over nothing divided by another one gives."""
        return any(each["value"][1] != "NaN" for each in prometheus.query(expression))

    wait_for(has_figures, 60)


def test_the_board_s_choice_of_groups_has_the_group(prometheus: Asked) -> None:
    found = prometheus.http.get("/label/group/values", params={"match[]": "lockgate_group_revision"}).json()["data"]
    assert found == [GROUP]


def test_every_alert_is_evaluated_without_an_error(prometheus: Asked) -> None:
    expected = {alert["alert"] for alert in alerts()}
    wait_for(lambda: all(rule["health"] == "ok" for rule in prometheus.rules().values()), 60)
    rules = prometheus.rules()
    assert rules.keys() == expected
    assert {name: rule["lastError"] for name, rule in rules.items() if rule.get("lastError")} == {}


def test_what_has_happened_here_fires_and_nothing_else_does(prometheus: Asked) -> None:
    def alerted() -> set[str]:
        return {name for name, rule in prometheus.rules().items() if rule["state"] != "inactive"}

    wait_for(lambda: alerted() == {"LockgateReaderLost", "LockgateLateRows", "LockgateRetentionNear"}, 60)
    (lost,) = prometheus.rules()["LockgateReaderLost"]["alerts"]
    assert lost["annotations"]["summary"] == "A reader of ghost in group shop is lost"
    assert (lost["state"], lost["labels"]["group"], lost["labels"]["source"]) == ("firing", GROUP, "ghost")


def test_each_coordinator_is_scraped_alone_and_no_reader_counts_twice(prometheus: Asked) -> None:
    wait_for(lambda: [each["value"][1] for each in prometheus.query('up{job="lockgate"}')] == ["1", "1"], 60)
    waiting = dict(EXPRESSIONS)["Waiting readers"]
    wait_for(lambda: [each["value"][1] for each in prometheus.query(waiting)] == ["1"], 60)


@pytest.mark.long
def test_a_coordinator_that_wants_a_token_is_scraped_with_one(promtool: str, tmp_path: Path) -> None:
    token = "a-token-that-may-read-all-groups-00000000000"
    with CoordinatorProcess(env={"LOCKGATE_TOKENS": f"read={token}"}) as coordinator:
        configuration(tmp_path, coordinator.url, token=token)
        with PrometheusServer(tmp_path) as server:
            wait_for(lambda: [each["value"][1] for each in Asked(server.url).query("lockgate_store_up")] == ["1"], 60)

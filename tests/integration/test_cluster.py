"""spark-submit to a standalone cluster of two workers, with nothing of lockgate installed there:
all that is needed is shipped.

The Python of driver and executors is the one that this environment was made from, which has none of
its packages.
"""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import support
from lockgate_testbed import jars, topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from lockgate_testbed.spark_cluster import StandaloneCluster
from lockgate_testbed.spark_programs import spark_home

pytestmark = pytest.mark.long

JOB = Path(support.__path__[0]) / "cluster_job.py"
SHIPPED = (
    "lockgate",
    "lockgate_http",
    "lockgate_spark",
    "httpx",
    "httpcore",
    "h11",
    "anyio",
    "certifi",
    "idna",
    "typing_extensions",
    "exceptiongroup",
)
RECORDS = 20_000
BARE_PYTHON = os.path.realpath(sys.executable)
CONF = {
    "spark.pyspark.python": BARE_PYTHON,
    "spark.cores.max": "2",
    "spark.executor.cores": "1",  # an executor on each worker
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def cluster(kafka: KafkaBroker) -> Iterator[StandaloneCluster]:
    with StandaloneCluster() as running:
        yield running


@pytest.fixture(scope="module")
def day(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("a-day-on-a-cluster", records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as process:
        httpx.put(f"{process.url}/v1/groups/cluster", json={"max_drift_ms": HOUR_MS}).raise_for_status()
        yield process


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive that `pip install --target` of the client and zip make: the client, the core,
    httpx and its requirements.
    """
    archive = tmp_path_factory.mktemp("ship") / "lockgate.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for origin in (
            Path(found.origin) for name in SHIPPED if (found := importlib.util.find_spec(name)) and found.origin
        ):
            package = origin.parent if origin.name == "__init__.py" else origin
            for file in [package] if package.is_file() else package.rglob("*"):
                if file.is_file() and "__pycache__" not in file.parts:
                    written.write(file, file.relative_to(package.parent))
    return archive


def submit(cluster: StandaloneCluster, mode: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    connector = ",".join(map(str, jars.kafka_connector()))
    conf = [part for key, value in CONF.items() for part in ("--conf", f"{key}={value}")]
    command = [
        spark_home() / "bin" / "spark-submit",
        "--master",
        cluster.url,
        "--deploy-mode",
        mode,
        "--jars",
        connector,
    ]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK"))}
    env |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(spark_home())}
    started = [str(part) for part in (*command, *conf, *arguments)]
    return subprocess.run(started, capture_output=True, text=True, timeout=400, check=False, env=env)


def assert_exact_and_level(done: dict[str, Any], spec: SkewedTopic) -> None:
    rows = [tuple(row) for batch in done["batches"] for row in batch["rows"]]
    assert sorted(rows) == sorted(
        (partition, offset) for partition, count in enumerate(spec.counts()) for offset in range(count)
    )
    assert len(done["batches"]) >= 4
    for batch in done["batches"]:
        assert max((spec.event_time(*row) for row in batch["rows"]), default=0) <= batch["target"]


def assert_executors_reported(done: dict[str, Any]) -> None:
    """From both workers, while the batch ran: the group's watermark rose with it."""
    assert {Path(folder).parts[-3] for folder in done["executors"]} == {"worker-0", "worker-1"}
    assert sum(batch["after"] > batch["before"] for batch in done["batches"]) >= 3


def test_the_bare_python_has_nothing_of_what_is_shipped() -> None:
    asked = subprocess.run(
        [BARE_PYTHON, "-c", "import lockgate_spark"], capture_output=True, text=True, check=False, cwd="/"
    )
    assert "No module named 'lockgate_spark'" in asked.stderr


def test_in_client_mode_executors_on_both_workers_report_and_the_result_is_exact(
    cluster: StandaloneCluster,
    kafka: KafkaBroker,
    day: SkewedTopic,
    coordinator: CoordinatorProcess,
    shipped: Path,
    tmp_path: Path,
) -> None:
    arguments = (
        kafka.bootstrap,
        day.name,
        coordinator.url,
        tmp_path / "checkpoint",
        tmp_path / "out.json",
        RECORDS // 5,
    )
    ended = submit(cluster, "client", "--py-files", shipped, JOB, *arguments)
    assert ended.returncode == 0, ended.stderr[-4000:]
    done = json.loads((tmp_path / "out.json").read_text())
    assert_exact_and_level(done, day)
    assert_executors_reported(done)


def test_in_cluster_mode_spark_refuses_python_applications(cluster: StandaloneCluster, shipped: Path) -> None:
    ended = submit(cluster, "cluster", "--py-files", shipped, JOB)
    assert ended.returncode != 0
    assert (
        "Cluster deploy mode is currently not supported for python applications on standalone clusters"
        in ended.stdout + ended.stderr
    )

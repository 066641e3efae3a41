"""What is released, installed by a user who has no checkout: both jobs of the quick start and
the Python reader align real topics.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate import __version__
from lockgate_testbed import jars, topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.code_of_pages import blocks
from support.imports import CHECKOUT

pytestmark = [pytest.mark.long, pytest.mark.kafka]

CARRIED = {
    "lockgate": ["py.typed"],
    "lockgate_coordinator": ["py.typed", "commit.lua", "index.html", "uPlot.iife.js", "uPlot.min.css"],
    "lockgate_http": ["py.typed"],
    "lockgate_cli": ["py.typed"],
    "lockgate_spark": ["py.typed", "KafkaLog.java", "StandIn.java"],
    "lockgate_reader": ["py.typed"],
}
DIST = ["make", "dist", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.ready"]
CONNECTOR = re.compile(r'"spark\.jars\.packages", (?:"[^"]+"|lockgate_spark\.packages\(\))')
BATCH = re.compile(r"batch \d+: (\d+) rows from (\d) of 4 partitions, (\d+) min apart before")
NOON_MS, BEHIND_MS, MANY = 1_767_268_800_000, 21_600_000, range(4_000)
READER = """
import json
from lockgate_reader import AlignedConsumer

kafka = {{"bootstrap.servers": "{kafka}"}}
options = dict(starting_offsets="earliest", ending_offsets="latest", max_drift="10 minutes")
with AlignedConsumer("{topic}", kafka=kafka, **options) as consumer:
    print(json.dumps([record.partition() for record in consumer]))
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`make dist`, in a copy of what is committed."""
    pytest.importorskip("build", reason="`make dist` installs it")
    copy = tmp_path_factory.mktemp("released") / "checkout"
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(copy)], check=True)
    done = subprocess.run(DIST, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "build/dist"


def test_each_wheel_carries_what_it_needs(released: Path) -> None:
    assert len(list(released.glob("*.tar.gz"))) == len(CARRIED)
    for package, files in CARRIED.items():
        (wheel,) = released.glob(f"{package}-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert [file for file in files if not any(name.endswith(f"/{file}") for name in names)] == []
        assert any(name.endswith("/licenses/LICENSE") for name in names)
        assert not [name for name in names if "test" in name or name.endswith(".pyc")]


def test_the_jar_for_spark_s_servers_is_among_them(released: Path) -> None:
    (jar,) = released.glob("lockgate-spark-server-*.jar")
    names = zipfile.ZipFile(jar).namelist()
    assert {"META-INF/LICENSE", "io/lockgate/spark/LockgateExtensions.class"} <= {*names}
    assert f"  {jar.name}\n" in (released / "SHA256SUMS").read_text()


def test_the_same_commit_gives_the_same_bytes(released: Path) -> None:
    before = (released / "SHA256SUMS").read_text()
    subprocess.run(DIST, cwd=released.parents[1], capture_output=True, check=True)
    assert (released / "SHA256SUMS").read_text() == before


def environment(venv: Path, released: Path, *ours: str) -> Path:
    """The folder of programs of an environment with these wheels, and nothing of the checkout."""
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    install = [str(venv / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--find-links", str(released), "--constraint", str(CHECKOUT / "tools/constraints/dev.txt")]
    subprocess.run([*install, *ours], env=outside(), check=True, timeout=900)
    return venv / "bin"


@pytest.fixture(scope="module")
def installed(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    ours = "lockgate-spark[pyspark]", "lockgate-coordinator", "lockgate-reader"
    return environment(tmp_path_factory.mktemp("user") / "venv", released, *ours)


def outside() -> dict[str, str]:
    """The environment of a user: nothing leads into the checkout."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def ran(*command: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """How a program has ended."""
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=outside(), capture_output=True, text=True, timeout=600, check=False
    )


def said(*command: str | Path, cwd: Path) -> str:
    """What a program prints on its standard output; it has to succeed."""
    done = ran(*command, cwd=cwd)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.fixture
def skewed(kafka: KafkaBroker, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a topic of four partitions, of which the last one is six hours behind."""
    name = request.node.name
    times = [(number % 4, NOON_MS + 1_000 * (number // 4) - (BEHIND_MS if number % 4 == 3 else 0)) for number in MANY]
    with topics.created(kafka.bootstrap, {name: 4}):
        topics.produce(kafka.bootstrap, name, [(partition, at, None, b"{}") for partition, at in times])
        yield name


def test_all_distributions_are_there_at_this_version_and_none_is_the_checkouts(installed: Path, tmp_path: Path) -> None:
    listed = json.loads(said(installed / "python", "-m", "pip", "list", "--format=json", cwd=tmp_path))
    ours = {each["name"]: each for each in listed if each["name"].startswith("lockgate")}

    assert sorted(ours) == [package.replace("_", "-") for package in sorted(CARRIED)]
    assert {each["version"] for each in ours.values()} == {__version__}
    assert [each for each in ours.values() if "editable_project_location" in each] == []
    assert said(installed / "lockgate", "--version", cwd=tmp_path).strip() == f"lockgate {__version__}"


def test_commands_run_on_a_laptop_without_the_service(released: Path, tmp_path: Path) -> None:
    laptop = environment(tmp_path / "venv", released, "lockgate-cli")
    there = json.loads(said(laptop / "python", "-m", "pip", "list", "--format=json", cwd=tmp_path))
    with CoordinatorProcess() as coordinator:
        answer = said(laptop / "lockgate", "groups", "--url", coordinator.url, "--output", "json", cwd=tmp_path)
    serve = ran(laptop / "lockgate", "serve", "--port", "0", cwd=tmp_path)

    assert {each["name"] for each in there} & {"fastapi", "uvicorn", "redis", "prometheus-client"} == set()
    assert json.loads(answer) == {"items": [], "next": None}
    assert (serve.returncode, serve.stderr) == (
        1,
        "lockgate: serve needs the service: pip install lockgate-coordinator\n",
    )


def test_the_first_job_runs_in_an_empty_environment(installed: Path, kafka: KafkaBroker, tmp_path: Path) -> None:
    page = blocks(CHECKOUT / "docs/quickstart.md")
    job = next(block for block in page if block.language == "python")
    printed = page[page.index(job) + 1]
    # No registry of Maven's is asked: the connector's own files are there.
    connector = ",".join(str(jar) for jar in jars.kafka_connector())
    text = CONNECTOR.sub(f'"spark.jars", "{connector}"', job.text).replace("localhost:9092", kafka.bootstrap)
    (tmp_path / "first.py").write_text(text)
    with topics.created(kafka.bootstrap, {"orders": 4}):
        lines = said(installed / "python", "first.py", cwd=tmp_path).splitlines()
    assert [line for line in lines if "orders" in line] == printed.text.splitlines()


def test_the_quick_start_aligns_a_topic_of_ones_own(
    installed: Path, kafka: KafkaBroker, skewed: str, tmp_path: Path
) -> None:
    job = next(block for block in blocks(CHECKOUT / "docs/quickstart.md") if "TOPIC" in block.text)
    connector = ",".join(str(jar) for jar in jars.kafka_connector())
    text = CONNECTOR.sub(f'"spark.jars", "{connector}"', job.text)
    text = text.replace("localhost:9092", kafka.bootstrap).replace('"orders"', f'"{skewed}"')
    (tmp_path / "first_aligned.py").write_text(text.replace("100_000", "1_000"))
    lines = said(installed / "python", "first_aligned.py", cwd=tmp_path).splitlines()
    found = [BATCH.fullmatch(line) for line in lines]
    batches = [tuple(map(int, each.groups())) for each in found if each]

    assert sum(rows for rows, _, _ in batches) == len(MANY)
    assert batches[0][1:] == (1, 360)  # the partition that is six hours behind, alone


def test_the_reader_aligns_a_topic_of_ones_own(
    installed: Path, kafka: KafkaBroker, skewed: str, tmp_path: Path
) -> None:
    (tmp_path / "service.py").write_text(READER.format(topic=skewed, kafka=kafka.bootstrap))
    partitions = json.loads(said(installed / "python", "service.py", cwd=tmp_path))

    assert len(partitions) == len(MANY)
    behind = partitions.count(3)
    assert partitions[:behind] == [3] * behind

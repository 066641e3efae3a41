"""What is released, installed by a user who has no checkout: the quick start of README runs."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lockgate_testbed import jars, topics
from lockgate_testbed.kafka import KafkaBroker
from support.code_of_pages import blocks
from support.imports import CHECKOUT

pytestmark = [pytest.mark.long, pytest.mark.kafka]

CARRIED = {
    "lockgate": ["py.typed"],
    "lockgate_coordinator": ["py.typed", "commit.lua", "index.html", "uPlot.iife.js", "uPlot.min.css"],
    "lockgate_client": ["py.typed"],
    "lockgate_spark": ["py.typed", "KafkaLog.java", "StandIn.java"],
    "lockgate_reader": ["py.typed"],
}
CONNECTOR = re.compile(r'"spark\.jars\.packages", "[^"]+"')


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`make dist`, in a copy of what is committed."""
    pytest.importorskip("build", reason="`make dist` installs it")
    copy = tmp_path_factory.mktemp("released") / "checkout"
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(copy)], check=True)
    done = subprocess.run([sys.executable, "release/dist.py"], cwd=copy, capture_output=True, text=True, check=False)
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


def test_the_same_commit_gives_the_same_bytes(released: Path) -> None:
    before = (released / "SHA256SUMS").read_text()
    subprocess.run([sys.executable, "release/dist.py"], cwd=released.parents[1], capture_output=True, check=True)
    assert (released / "SHA256SUMS").read_text() == before


def test_the_quick_start_runs_in_an_empty_environment(released: Path, kafka: KafkaBroker, tmp_path: Path) -> None:
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    (spark,) = released.glob("lockgate_spark-*.whl")
    (coordinator,) = released.glob("lockgate_coordinator-*.whl")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--find-links", str(released), "--constraint", str(CHECKOUT / "constraints/dev.txt")]
    subprocess.run([*install, f"{spark}[pyspark]", str(coordinator)], check=True, timeout=900)
    elsewhere = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    version = subprocess.run(
        [str(tmp_path / "venv/bin/lockgate"), "--version"], env=elsewhere, capture_output=True, text=True, check=True
    )
    assert version.stdout.strip() == f"lockgate {(CHECKOUT / 'VERSION').read_text().strip()}"

    page = blocks(CHECKOUT / "README.md")
    job = next(block for block in page if block.language == "python")
    printed = page[page.index(job) + 1]
    # No registry of Maven's is asked: the connector's own files are there.
    connector = ",".join(str(jar) for jar in jars.kafka_connector())
    text = CONNECTOR.sub(f'"spark.jars", "{connector}"', job.text).replace("localhost:9092", kafka.bootstrap)
    (tmp_path / "first.py").write_text(text)
    topics.create(kafka.bootstrap, "orders", 4)
    try:
        done = subprocess.run(
            [str(python), "first.py"],
            cwd=tmp_path,
            env=elsewhere,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    finally:
        topics.delete(kafka.bootstrap, "orders")
    assert done.returncode == 0, done.stderr[-3_000:]
    assert [line for line in done.stdout.splitlines() if "orders" in line] == printed.text.splitlines()
    assert shutil.which("lockgate", path=str(tmp_path / "venv/bin")) is not None

"""Code of README and docs runs as it stands: each page in order, in a Python of its own, against a
real Kafka and a real coordinator. Only addresses are the test's.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.code_of_pages import PAGES, Block, blocks, setup_of, topics_of
from support.imports import CHECKOUT

RUN = {"python", "bash"}
AT_ONCE = {"README.md"}  # the other pages take half a minute each, and run with the long suites
BEGAN = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
PARTITIONS, ORDERS = 4, 5_000


def name(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


def to_run(page: Path) -> list[Block]:
    """A page's blocks that need Kafka or a coordinator. Other tests have the commands that set up
    a machine, the doctests, and what a comment says is tested elsewhere.
    """
    return [
        block
        for block in blocks(page)
        if block.language in RUN
        and not block.reason
        and not block.noted("tested by")
        and not block.interactive
        and (block.language == "python" or block.commands()[0].startswith("curl"))
    ]


RUNNING = [
    pytest.param(page, id=name(page), marks=[] if name(page) in AT_ONCE else [pytest.mark.long])
    for page in PAGES
    if to_run(page)
]


@pytest.fixture
def filled(kafka: KafkaBroker, request: pytest.FixtureRequest) -> Iterator[KafkaBroker]:
    """A Kafka with the topics that the page creates, else with `orders` and `payments`, as the
    quick start fills them.
    """
    pages_own = topics_of(request.getfixturevalue("page"))
    columns = {} if pages_own else {"orders": "placed", "payments": "paid"}
    with topics.created(kafka.bootstrap, pages_own or dict.fromkeys(columns, PARTITIONS)):
        for topic, column in columns.items():
            topics.produce(kafka.bootstrap, topic, [a_record(column, number) for number in range(ORDERS * PARTITIONS)])
        yield kafka


def a_record(column: str, number: int) -> tuple[int, int, bytes | None, bytes]:
    """One a second in each partition; the last partition is 6 hours behind."""
    partition = number % PARTITIONS
    event_time = BEGAN + timedelta(seconds=number // PARTITIONS, hours=-6 if partition == PARTITIONS - 1 else 0)
    value = json.dumps({"id": number, column: event_time.isoformat()})
    return partition, int(event_time.timestamp() * 1000), None, value.encode()


@pytest.mark.parametrize("page", RUNNING)
def test_a_page_runs_in_order_and_prints_what_it_says(page: Path, filled: KafkaBroker, tmp_path: Path) -> None:
    with CoordinatorProcess() as coordinator:
        addresses = {
            "localhost:9092": filled.bootstrap,
            "http://coordinator:8080": coordinator.url,
            "http://localhost:8080": coordinator.url,
        }
        printed = run(page, addresses, tmp_path)
    before = ""
    for block in blocks(page):
        if block.comment == "output":
            assert printed[before] == block.text, block.place
        before = block.place


def run(page: Path, addresses: dict[str, str], folder: Path) -> dict[str, str]:
    """What each Python block printed, by its place."""
    given, results = folder / "blocks.json", folder / "results.json"
    texts = [[block.place, block.language, block.text] for block in setup_of(page) + to_run(page)]
    for each in texts:
        for ours, theirs in addresses.items():
            each[2] = each[2].replace(ours, theirs)
    given.write_text(json.dumps(texts), encoding="utf-8")
    command = [sys.executable, "-m", "support.page_session", str(given), str(results)]
    path = {"PYTHONPATH": ":".join([str(CHECKOUT / "tests"), *filter(None, sys.path)])}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **path}, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-6_000:]
    return dict(json.loads(results.read_text(encoding="utf-8")))

"""What all tests share. The servers that some of them ask for are in `support.servers`, which needs
the test bed: `pytest tests/core` needs the core, pytest and hypothesis alone.
"""

import logging
import re
import sys
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

from support.examples import MOST
from support.long_first import seconds

pytest_plugins = ["support.servers"] if find_spec("lockgate_testbed") else []

# How long an example takes is the machine's matter, and no property of what is tested.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=MOST)
settings.load_profile("unhurried")
# Fixture → marker: `-m "not kafka"` leaves out whatever needs a broker, without a mark on every
# test.
MARKS = {"kafka": "kafka", "redis_server": "redis", "promtool": "prometheus"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Without pytest-asyncio its options would be unknown ones, and those are errors."""
    if find_spec("pytest_asyncio") is None:
        for option in ("asyncio_mode", "asyncio_default_fixture_loop_scope"):
            parser.addini(option, "of pytest-asyncio, which is not installed")


@pytest.fixture(autouse=True)
def tireless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine stops this process now and then. Clocks that tests set do not show it, so it
    must not lengthen leases.
    """
    stalls = sys.modules.get("lockgate_coordinator.service.stalls")
    if stalls is not None and not request.module.__name__.endswith("test_stall_detector"):
        monkeypatch.setattr(stalls, "STALLED_S", 3_600.0)


@pytest.fixture(autouse=True)
def plain_log_texts(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark's own loggers make JSON of whatever their handlers get, and pytest has one handler
    for all tests. `caplog.text` would be JSON in each test beside or after such a logger.
    """
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    monkeypatch.setattr(caplog.handler, "setFormatter", lambda formatter: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests by the servers that they ask for; put the files that take longest first."""
    for item in items:
        asked = getattr(item, "fixturenames", ())
        for fixture, mark in MARKS.items():
            if fixture in asked:
                item.add_marker(mark)
    items.sort(key=lambda item: -seconds(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With `--dist loadfile`, give whole files to a process, and what shares a server as one."""
    if config.getoption("dist") != "loadfile":
        return None
    from support.side_by_side import Files

    return Files(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """`Flink: n traces replayed: …`, from the reports of all processes."""
    from flink_replay.runner import REPORTED, Outcome, summary

    reports = [each for found in terminalreporter.stats.values() for each in found]
    outcomes = [
        Outcome(difference, tuple(deviations))
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, (difference, deviations) in report.user_properties
        if name == REPORTED
    ]
    if outcomes:
        terminalreporter.write_line(f"Flink: {summary(outcomes)}")


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own; the topic itself is the test's to create."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)[:200]

"""The closing line of the replay, under pytest's own."""

import pytest
from flink_replay.runner import Outcome, summary

OUTCOMES = pytest.StashKey[list[Outcome]]()


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    """What the replay of each trace came to, for the closing line."""
    return request.config.stash.setdefault(OUTCOMES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """`n traces replayed: …`."""
    outcomes = config.stash.get(OUTCOMES, [])
    if outcomes:
        terminalreporter.write_line(f"Flink: {summary(outcomes)}")

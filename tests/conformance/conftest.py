"""Each replayed trace leaves its outcome in its test's report; `tests/conftest.py` sums them up."""

from collections.abc import Callable

import pytest
from flink_replay.runner import REPORTED, Outcome


@pytest.fixture
def replayed(record_property: Callable[[str, object], None]) -> Callable[[Outcome], None]:
    """Keep what the replay of a trace came to. A report is all that comes out of the process that
    runs a test.
    """

    def keep(outcome: Outcome) -> None:
        record_property(REPORTED, [outcome.difference, list(outcome.deviations)])

    return keep

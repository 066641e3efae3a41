"""What the tests of the fast parts share."""

import pytest

from lockgate_coordinator.store import redis as redis_store


@pytest.fixture(autouse=True)
def cached_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a cached time be off by a minute. The default is 50 ms, and a busy machine may pause for
    longer than that before a commit.
    """
    monkeypatch.setattr(redis_store, "CACHED_WITHIN_MS", 60_000)

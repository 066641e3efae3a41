"""What the log says of a store that is gone: at once, at intervals, and when it is back."""

import logging

import pytest

from lockgate_coordinator.store.outages import SAID_AGAIN_S, Outages
from support.tokens import Clock


def test_an_outage_is_said_at_once_at_intervals_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    clock = Clock()
    outages = Outages("redis://here:1/0", clock)
    outages.failed("redis://here:1/0: refused")  # at the start, which says so itself
    outages.over()
    for _ in range(5):
        outages.failed("redis://here:1/0: refused")
    assert outages.now
    clock.now += SAID_AGAIN_S
    outages.failed("redis://here:1/0: refused")
    clock.now += 2.5
    outages.over()
    assert not outages.now
    outages.failed("redis://here:1/0: loading")
    assert caplog.messages == [
        "the store does not answer, so requests get 503: redis://here:1/0: refused",
        "the store has not answered for 30 s; 6 operations have failed: redis://here:1/0: refused",
        "redis://here:1/0 answers again after 32.5 s, in which 6 operations failed",
        "the store does not answer, so requests get 503: redis://here:1/0: loading",
    ]

"""What people are told of a transaction that stays open in a live query: virtual time, logs with
markers.
"""

import re

import pytest

from lockgate_spark.planning import startup_grace
from support.marked_logs import Entry, JvmMarkedLog, Kind, MarkedSource
from support.sessions import BEGAN_S, MINUTE, NOW_MS, TimeInMemory, session

SECOND = 1_000


@pytest.mark.parametrize("lag_s", [0, 5, 300])
@pytest.mark.parametrize("open_s", [30, 200])
def test_what_is_said_of_an_open_transaction_names_it_and_waits_for_no_0_s(
    lag_s: int, open_s: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """a-1 commits each second up to a transaction that stays open; its records are `lag_s` late."""
    monkeypatch.setattr(startup_grace, "WATCH_S", 0.5)
    time, jvm = TimeInMemory(), JvmMarkedLog({}, entries={"a-0": [], "a-1": []}, window=50)
    one = session(MarkedSource(jvm), time=time, max_drift="1 minute")
    positions = {"a-0": 0, "a-1": 0}
    for second in range(120 + open_s):
        time.now = BEGAN_S + max(second, time.now - BEGAN_S)
        now = NOW_MS + int((time.now - BEGAN_S) * SECOND)
        jvm.entries["a-0"].append(Entry(Kind.RECORD, now))
        jvm.entries["a-1"].append(Entry(Kind.RECORD, now - lag_s * SECOND))
        if second < 120:
            jvm.entries["a-1"].append(Entry(Kind.MARKER, now))
            jvm.stable["a-1"] = len(jvm.entries["a-1"])
        positions = one.latest_offset(0, positions)
    one.close()
    assert not [line for line in caplog.messages if re.search(r"\b0 m?s\b", line)]
    said = [line for line in caplog.messages if "a transaction has been open since" in line]
    assert len(said) == (lag_s < MINUTE // SECOND and open_s > MINUTE // SECOND)
    assert all(line.startswith("topic a, partition 1: a transaction has been open since 00:0") for line in said)

"""Makes a query wait for splits whose producers have not shown their lag yet
(`lockgate.plan.producer_lag`). Spark's watermark never falls, so a first batch that reads the other
splits up to the clock can lose rows of this one. `docs/guide/guarantees.md` has the length of the
wait, which takes place inside Spark's call. A split that has shown nothing by then counts as
silent.
"""

from collections.abc import Collection, Mapping

from lockgate.plan.model import Head
from lockgate.plan.producer_lag import ProducerLag
from lockgate_spark.logs.unread import Key, Unread

UNKNOWN_MS = 86_400_000
"""The lag (ms) that plans assume for a producer that has shown none yet."""

WATCH_S = 5.0
SHORT_WATCH_S = 2.0
LONGEST_WATCH_S = 30.0
_ENOUGH = 4  # the fewest offsets between two records from which an average distance is computed
_GAPS = 1.5  # a split whose records are so far apart shows itself within so many gaps


def watch_s(first: Head | None, last: Head | None, still_since: int, *, now: int, recent_ms: int, far_ms: int) -> float:
    """Return how long (s) to watch a split from `now` (wall clock in ms) on. Its first unread
    record is `first`, and the one with the highest event time is `last`; None in an empty log. The
    log has not grown since `still_since` (ms), as far as Kafka shows.

    The wait is `SHORT_WATCH_S` if the log is empty, if the last append is more than `recent_ms`
    ago, or if the last record is more than `far_ms` old: no other split waits for such a producer.
    """
    if last is None or last.event_time < now - far_ms or still_since < now - recent_ms:
        return SHORT_WATCH_S
    gaps_s = 0.0
    if first is not None and last.offset - first.offset >= _ENOUGH:
        gaps_s = _GAPS * (last.event_time - first.event_time) / (last.offset - first.offset) / 1000
    return gaps_s if WATCH_S < gaps_s <= LONGEST_WATCH_S else WATCH_S


def watches(
    keys: Collection[Key], unread: Unread, lags: Mapping[Key, ProducerLag], now: int, recent_ms: int, far_ms: int
) -> dict[Key, float]:
    """Return the `watch_s` of each of the splits `keys`.

    Kafka shows when records were last appended if it stamps them itself
    (`message.timestamp.type=LogAppendTime`). Otherwise, only the growth of the log does.
    """
    unread.highest()
    heads, last, stamps = unread.heads(), dict[Key, Head](), dict[Key, int]()
    for i in {i for i, _ in keys}:
        log = unread.sources[i].log
        last |= {(i, split): head for split, head in log.last_met(unread.ends[i]).items()}
        log.topics.refresh(now)
        if stamped := [split for split in unread.ends[i] if log.topics.of(split).stamped]:
            found = log.requests.highest() or {}
            stamps |= {(i, split): found[split].event_time for split in stamped if split in found}
    grown = {key: max(lags[key].state.met_at, lags[key].state.moved_at) for key in keys}
    return {
        key: watch_s(
            heads.get(key), last.get(key), min(at, stamps.get(key, at)), now=now, recent_ms=recent_ms, far_ms=far_ms
        )
        for key, at in grown.items()
    }

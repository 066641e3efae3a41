"""When records were last appended to some splits, looked up once, when the wait for these splits
begins (`startup_grace.Traces`).

Kafka has that time if it stamps records itself (`message.timestamp.type=LogAppendTime`), even if
event time is in the payload. Otherwise only the log's end shows it, by whether it moves.
"""

from collections.abc import Iterable, Mapping

from lockgate.plan.model import Head
from lockgate.plan.producer_lag import ProducerLag
from lockgate_spark.logs.requests import KafkaRequests
from lockgate_spark.logs.topics import topic_of
from lockgate_spark.logs.unread import Key, Unread
from lockgate_spark.planning.startup_grace import Traces

_ENOUGH = 4  # offsets between two records that tell how far apart records are


def traces_of(keys: Iterable[Key], unread: Unread, lags: Mapping[Key, ProducerLag]) -> dict[Key, Traces]:
    """Return the traces of some splits."""
    wanted = set(keys)
    newest, heads = unread.highest(), unread.heads()
    stamps: dict[Key, int] = {}
    last: dict[Key, Head] = {}
    for i in {i for i, _ in wanted}:
        log, ends = unread.sources[i].log, unread.ends[i]
        stamps |= {(i, split): at for split, at in _stamps(log.requests).items()}
        last |= {(i, split): head for split, head in log.last_met(ends).items()}
    return {
        key: Traces(
            newest.get(key),
            max(lags[key].state.met_at, lags[key].state.moved_at),
            stamps.get(key),
            _apart_ms(heads.get(key), last.get(key)),
        )
        for key in wanted
    }


def _apart_ms(first: Head | None, last: Head | None) -> float:
    """How far apart the records between these two are on average."""
    if first is None or last is None or last.offset - first.offset < _ENOUGH:
        return 0.0
    return (last.event_time - first.event_time) / (last.offset - first.offset)


def _stamps(requests: KafkaRequests) -> dict[str, int]:
    """When the newest record of each split was appended, where Kafka stamps the topic's records."""
    asked = requests.topic_configs({topic_of(split) for split in requests.order}, ("message.timestamp.type",))
    stamped = {line.partition("\t")[0] for line in asked if line.endswith("\tLogAppendTime")}
    found = (requests.highest() or {}) if stamped else {}
    return {split: head.event_time for split, head in found.items() if topic_of(split) in stamped}

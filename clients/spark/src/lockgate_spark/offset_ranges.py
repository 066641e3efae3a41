"""Reads the Kafka records in ranges of offsets as batch DataFrames, also over Connect."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

_KAFKA = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
_HEADERS = ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
_OF_A_STREAM = ("subscribe", "assign", "starting", "ending", "maxoffsets", "minoffsets", "maxtrigger", "lockgate.")
_ROUNDS = 8

FAR = 10_000
"""If two offsets are further apart than this, the offsets between them are not read."""

EARLIEST = -2
"""Stands for the first offset that a partition has."""


class Range(NamedTuple):
    """The offsets of a partition from `start` to `end`, without `end` itself."""

    topic: str
    partition: int
    start: int
    end: int


def records(spark: SparkSession, options: Mapping[str, str], ranges: Iterable[Range]) -> DataFrame:
    """Return the Kafka records in `ranges`, which contain at most one range for each partition.
    `options` are those of a Kafka source; options that select topics and offsets are ignored.
    """
    starts: dict[str, dict[int, int]] = defaultdict(dict)
    ends: dict[str, dict[int, int]] = defaultdict(dict)
    for topic, partition, start, end in ranges:
        starts[topic][partition], ends[topic][partition] = start, end
    if not starts:
        headers = any(key.lower() == "includeheaders" and value.lower() == "true" for key, value in options.items())
        columns = _KAFKA + (_HEADERS if headers else "")
        # createDataFrame would make `spark`, which may be a query's own session, the active one
        return spark.range(0).selectExpr(f"from_json('', '{columns}') AS row").select("row.*")
    own = {key: value for key, value in options.items() if not key.lower().startswith(_OF_A_STREAM)}
    own["assign"] = json.dumps({topic: sorted(each) for topic, each in starts.items()})
    own |= {"startingOffsets": json.dumps(starts), "endingOffsets": json.dumps(ends)}
    return spark.read.format("kafka").options(**own).load()


def rounds(ranges: Iterable[Range]) -> list[list[Range]]:
    """Divide the ranges among 1 to 8 calls of `records`. If a partition has more than 8 ranges,
    those with the smallest gaps between them are merged.
    """
    by_partition: dict[tuple[str, int], list[Range]] = defaultdict(list)
    for each in sorted(ranges):
        by_partition[each.topic, each.partition].append(each)
    made: list[list[Range]] = [[] for _ in range(_ROUNDS)]
    for key, found in by_partition.items():
        widest = sorted(range(1, len(found)), key=lambda n: found[n - 1].end - found[n].start)[: _ROUNDS - 1]
        cuts = [0, *sorted(widest), len(found)]
        for n, (first, after) in enumerate(pairwise(cuts)):
            made[n].append(Range(*key, found[first].start, found[after - 1].end))
    return [each for each in made if each] or [[]]

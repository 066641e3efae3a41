"""One user of a server that others use: a query in the group of all, one in a group of the user's
own, and another session that asks for nothing.
"""

import contextlib
import io
import json
import os
import sys

from pyspark.sql import SparkSession
from streams import BOOTSTRAP, FOLDER, TOPIC, metrics, spark, stream

from lockgate_spark import Alignment, Coordinator, align

URL, USER, TOKEN = sys.argv[4:7]
DRIFT = "6 hours"


def started(df: object, name: str) -> object:
    """A query that keeps each row, in the table `name`."""
    writer = df.select("partition", "offset").writeStream.format("memory").queryName(name)  # type: ignore[attr-defined]
    return writer.option("checkpointLocation", str(FOLDER / name)).trigger(availableNow=True).start()


def shown(explained: object) -> str:
    """What `explain` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        explained.explain(True)  # type: ignore[attr-defined]
    return out.getvalue()


with_all = align(stream(), Alignment(max_drift=DRIFT, coordinator=Coordinator(URL, group="all", token=TOKEN)))
query = started(with_all, f"{USER}_with_all")
spark.conf.set("spark.lockgate.align", "true")
spark.conf.set("spark.lockgate.coordinator.group", USER)
spark.conf.set("spark.lockgate.coordinator.url", URL)
spark.conf.set("spark.lockgate.maxDrift", DRIFT)
alone = started(stream(), f"{USER}_alone")
explained = shown(with_all)
for each in (query, alone):
    each.awaitTermination()
explained += shown(query)

other = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).create()
reader = other.readStream.format("kafka").option("kafka.bootstrap.servers", BOOTSTRAP).option("subscribe", TOPIC)
native = reader.option("startingOffsets", "earliest").load().writeStream.format("noop").queryName(f"{USER}_native")
native = native.trigger(availableNow=True).start()
native.awaitTermination()
found = {
    "rows": [spark.table(f"{USER}_{name}").distinct().count() for name in ("with_all", "alone")],
    "aligned": ["alignmentTarget" in (metrics(one) or {}) for one in (query, alone, native)],
    "keys in the other session": [key for key in other.conf.getAll if "lockgate" in key],
    "queries that the other session sees": [str(one.id) for one in (query, alone) if other.streams.get(str(one.id))],
    "explained": explained,
}
print(json.dumps(found), flush=True)
other.stop()  # else this process does not end

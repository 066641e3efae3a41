"""A query without alignment whose batches wait for the group, as a whole."""

import json
import sys

import pyspark.sql.functions as F
from streams import FOLDER, started_with_python, stream

from lockgate_spark import Alignment, Coordinator, alignment_of, gate

URL, GROUP = sys.argv[4], sys.argv[5]


def take(batch, number):  # type: ignore[no-untyped-def]
    lowest, rows = batch.agg(F.min(F.unix_millis("timestamp")), F.count("*")).collect()[0]
    view = alignment_of(batch)
    with (FOLDER / "handed").open("a") as out:
        out.write(json.dumps([lowest, rows, view.read_limit]) + "\n")


taken = gate(take, "timestamp", Alignment(coordinator=Coordinator(URL, group=GROUP)))
query = stream().writeStream.queryName("gated").foreachBatch(taken)
query = started_with_python(query.option("checkpointLocation", str(FOLDER / "gated")).trigger(availableNow=True))
query.awaitTermination()
print("ended")

"""Inside foreachBatch over Connect: the plan of each batch, and a status from outside."""

import json

from streams import FOLDER, started_with_python, stream

import lockgate_spark
from lockgate_spark import Alignment, align


def take(batch, number):  # type: ignore[no-untyped-def]
    view = lockgate_spark.alignment_of(batch)
    with (FOLDER / "views").open("a") as out:
        out.write(
            json.dumps([batch.count(), sum(s.end - s.position for s in view.partitions), view.limited_by.value]) + "\n"
        )


query = align(stream(), Alignment(max_drift="10 minutes")).writeStream.foreachBatch(take)
query = query.option("checkpointLocation", str(FOLDER / "checkpoint")).trigger(processingTime="0 seconds")
query = started_with_python(query)
query.processAllAvailable()
told = lockgate_spark.status(query)
query.stop()
ended = lockgate_spark.status(query)
views = [json.loads(line) for line in (FOLDER / "views").read_text().splitlines()]
found = {"views": views, "state": told.state.value, "splits": len(told.partitions), "ended": ended.state.value}
print(json.dumps({**found, "stopped well": query.exception() is None}))

"""A query that tells how many batches it has done, while its host is killed."""

import json

from streams import FOLDER, counted, started, stream

from lockgate_spark import Alignment, align

query = started(align(stream(), Alignment(max_drift="10 minutes", late_rows="count")), "rows")
told = 0
while query.isActive:
    done = len(query.recentProgress)
    if done > told:
        told = done
        (FOLDER / "batches").write_text(str(done))
    query.awaitTermination(1)
dropped = sum(each["numRowsDroppedByWatermark"] for one in query.recentProgress for each in one["stateOperators"])
print(json.dumps({"counted": counted("rows"), "dropped": dropped}))

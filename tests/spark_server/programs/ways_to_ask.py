"""The same query aligned by each way to ask, and switched off."""

import json

from streams import counted, metrics, spark, started, stream

from lockgate_spark import Alignment, align

TEN = "10 minutes"
FEW = {"maxOffsetsPerTrigger": "750"}  # of batches


def run(df: object, name: str) -> list[object]:
    query = started(df, name)  # type: ignore[arg-type]
    query.awaitTermination()
    return [counted(name), "alignmentTarget" in metrics(query), metrics(query).get("lateRows")]


found = {"align": run(align(stream(**FEW), Alignment(max_drift=TEN, late_rows="count")), "align")}
found["options"] = run(stream(lockgate__align="true", lockgate__maxDrift=TEN, **FEW), "options")
found["format"] = run(stream("lockgate-kafka", lockgate__maxDrift=TEN, **FEW), "format")
spark.conf.set("spark.lockgate.align", "true")
spark.conf.set("spark.lockgate.maxDrift", TEN)
found["conf"] = run(stream(**FEW), "conf")
spark.conf.set("spark.lockgate.enabled", "false")
found["off"] = run(stream(lockgate__align="true", **FEW), "off")
print(json.dumps(found))

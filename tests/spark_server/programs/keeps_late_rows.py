"""A query that keeps its late rows over Connect, which then come back as records."""

import json

import pyspark.sql.functions as F
from streams import BOOTSTRAP, FOLDER, counted, spark, started, stream

import lockgate_spark
from lockgate_spark import Alignment, align

small = stream(maxOffsetsPerTrigger="100")
query = started(align(small, Alignment(mode="observe", late_rows="keep")), "kept")
query.awaitTermination()
late = lockgate_spark.late_rows(query)
by_path = lockgate_spark.late_rows(str(FOLDER / "kept/lockgate/late_rows"))
records = lockgate_spark.replay(late, {"kafka.bootstrap.servers": BOOTSTRAP})
oldest = records.agg(F.max("timestamp") < spark.table("kept").agg(F.max("window.end")).collect()[0][0]).collect()[0][0]
print(json.dumps([counted("kept"), late.count(), by_path.count(), records.count(), oldest]))

"""A query that is stopped while nothing is left to read."""

from streams import FOLDER, stream

from lockgate_spark import align

query = align(stream()).writeStream.format("noop").option("checkpointLocation", str(FOLDER / "checkpoint")).start()
query.processAllAvailable()
query.stop()
print("stopped")

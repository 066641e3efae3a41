"""The jar and the connector's jars uploaded to a server that has neither, and a stream read by
them; and another session of the same server, which has uploaded nothing.
"""

import json
import os
import sys

from pyspark.sql import SparkSession
from streams import BOOTSTRAP, TOPIC, counted, metrics, spark, started, stream

spark.addArtifacts(*sys.argv[4:])
query = started(stream("lockgate-kafka", lockgate__maxDrift="10 minutes"), "uploaded")
query.awaitTermination()
found = {"rows": counted("uploaded"), "aligned": "alignmentTarget" in metrics(query)}

other = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).create()
reader = other.readStream.format("lockgate-kafka").option("kafka.bootstrap.servers", BOOTSTRAP)
try:
    found["other session"] = str(reader.option("subscribe", TOPIC).load().isStreaming)
except Exception as error:
    found["other session"] = str(error).splitlines()[0]
print(json.dumps(found), flush=True)
other.stop()  # else this process does not end

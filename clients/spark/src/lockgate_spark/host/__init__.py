"""The host: a process beside a driver that has no Python of its own, or none that can be reached
(Spark Connect, Scala, Java, SQL, pipelines). The jar `lockgate-spark-server` starts it. Spark's
threads call it where, in a classic session, they would call the Python that has called `align`. No
other room imports it. `clients/spark-server` has the Java side, with the start and the end of the
process.
"""

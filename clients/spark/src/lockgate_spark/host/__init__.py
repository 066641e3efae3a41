"""The host: a Python process beside a Spark driver whose application has no Python, or none that
can be reached (Spark Connect, Scala, Java, SQL, pipelines). The jar `lockgate-spark-server` starts
it. Spark's threads call it instead of the Python process that calls `align` in a classic session.
No other package imports it. `clients/spark-server` has the Java side, which starts and ends the
process.
"""

"""The host: a Python process beside a Spark driver whose application has no Python, or none that
can be reached (Spark Connect, Scala, Java, SQL, pipelines). The jar `lockgate-spark-server` starts
it. In a classic session, Spark's threads call the Python process that has called `align`;
otherwise, they call the host. No other package imports this package. `clients/spark-server` has the
Java side, which starts and ends the process.
"""

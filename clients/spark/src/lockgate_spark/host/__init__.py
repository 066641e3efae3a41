"""The host: a Python process beside a Spark driver whose application has no Python, or none that
can be reached (Spark Connect, Scala, Java, SQL, pipelines). The jar `lockgate-spark-server` starts
it, and `clients/spark-server` has its source.
"""

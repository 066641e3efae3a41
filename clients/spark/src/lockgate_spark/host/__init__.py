"""The host: a process beside a driver that has no Python of its own, or none that can be reached
(Spark Connect, Scala, Java, SQL, pipelines). The jar `lockgate-spark-server` starts it, and Spark's
threads ask it what `align` would have asked the client in a classic session. Nobody imports it.
The Java side, with the start and the end of the process, is in `clients/spark-server`.
"""

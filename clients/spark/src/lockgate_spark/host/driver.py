"""Makes PySpark objects in the host for the SparkContext and the sessions that the driver has."""

from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession


class Driver:
    """The Spark driver that started this process. Its address and secret are read from environment
    variables.
    """

    def __init__(self) -> None:
        self.gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        # PySpark sets a secret for Python's calls of Java alone. Here Java's calls need it as well.
        self.gateway.callback_server_parameters.auth_token = self.gateway.gateway_parameters.auth_token
        ensure_callback_server_started(self.gateway)  # type: ignore[no-untyped-call]
        java = self.gateway.entry_point.context()
        conf = SparkConf(_jvm=self.gateway.jvm, _jconf=java.getConf())
        self._context = SparkContext(gateway=self.gateway, jsc=java, conf=conf)
        # PySpark makes the first session that it sees the default of the whole JVM.
        default = self.gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
        if default.isDefined():
            self.session(default.get())

    def session(self, java: Any) -> SparkSession:
        """Return the PySpark session of a Java session."""
        return SparkSession(self._context, java)

"""Makes PySpark objects in the host for the SparkContext and the sessions that the driver has."""

from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession


class Driver:
    """The Spark driver to which the host is attached."""

    def __init__(self, gateway: Any, context: SparkContext) -> None:
        self.gateway, self._context = gateway, context

    @classmethod
    def attached(cls) -> "Driver":
        """Connect to the driver that started this process. The environment contains its address and
        secret.
        """
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        # PySpark sets a secret for Python's calls of Java alone. Here Java's calls need it as well.
        gateway.callback_server_parameters.auth_token = gateway.gateway_parameters.auth_token
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        java = gateway.entry_point.context()
        conf = SparkConf(_jvm=gateway.jvm, _jconf=java.getConf())
        context = SparkContext(gateway=gateway, jsc=java, conf=conf)
        driver = cls(gateway, context)
        driver._take_the_default_session()
        return driver

    def session(self, java: Any) -> SparkSession:
        """Return the PySpark session of a Java session."""
        return SparkSession(self._context, java)

    def _take_the_default_session(self) -> None:
        # PySpark makes the first session that it sees the default of the whole JVM.
        default = self.gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
        if default.isDefined():
            self.session(default.get())

"""The Python half of a proxy for an object of Spark. `StandIn.java` is the Java half, which Spark
calls. Python returns its errors as one sentence, which the Java half throws, since py4j would put
the whole traceback into the message that Spark shows.
"""

import logging
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.failures import is_interrupt, java_cause, quiet_callbacks, sentence

log = logging.getLogger("lockgate")

_LENT = 64  # more than the threads of Java that call one object at once
_STOPPED = ""

_thread = threading.local()


def send_at_once(gateway: Any) -> None:
    """Make the JVM send its answers to this Python thread without delay. By default, TCP holds back
    the last piece of a text above 8 KB for 40 ms (Nagle's algorithm and delayed acknowledgements).
    """
    if not hasattr(_thread, "asked"):
        _thread.asked = True
        with suppress(Exception):  # py4j without pinned threads, or a platform that forbids the call
            gateway.java_gateway_server.getCallbackClient().getPerThreadConnection().getSocket().setTcpNoDelay(True)


class JavaCallback:
    """An object whose methods Java can call by their names."""

    class Java:
        implements = ("java.util.function.BiFunction",)

    _stand_in: Any = None

    def __init__(self) -> None:
        quiet_callbacks()
        self._lent: deque[Any] = deque(maxlen=_LENT)

    def apply(self, method: str, given: Any) -> Any:
        """Return the method's result to Java, or its error as a sentence, empty after a stop."""
        try:
            result = getattr(self, method)(*given)
        except Exception as error:
            return self._told(method, error)
        result = result.java_proxy if isinstance(result, SparkProxy) else result
        # py4j drops Java's reference as soon as Python drops its own, perhaps before Java uses it
        self._lent.append(result)
        return result

    def is_stopped(self) -> bool:
        """Return whether the query was stopped; errors are then assumed to come from the stop."""
        return False

    def explained(self, error: Exception) -> Exception:
        return error

    def _told(self, method: str, error: Exception) -> str:
        if self.is_stopped() or is_interrupt(error):
            log.debug("%s was ended by query.stop()", method, exc_info=error)
            return _STOPPED
        explained = self.explained(error)
        log.debug("%s failed", method, exc_info=explained)
        if self._stand_in is not None and (cause := java_cause(explained)) is not None:
            self._stand_in.because(cause)
        return sentence(explained)

    def toString(self) -> str:
        return f"the answers to {type(self).__name__}"

    def hashCode(self) -> int:
        return id(self) & 0x7FFFFFFF

    def equals(self, other: object) -> bool:
        return other is self


class SparkProxy(JavaCallback):
    """A proxy for `java`, an object of Spark, with these Java `interfaces`. Python answers the
    methods in `answers`. `stand_in` is the Java half if it exists already. `tasks` is a Java
    function for a new half, which changes the tasks that Spark has planned for a batch.
    """

    def __init__(
        self,
        java: Any,
        gateway: Any,
        interfaces: Iterable[str],
        answers: Iterable[str],
        stand_in: Any = None,
        tasks: Any = None,
    ) -> None:
        super().__init__()
        self._java, self._gateway, self._stand_in = java, gateway, stand_in
        self.java_proxy: Any = self
        """The object that Java gets: the Java half's proxy, or this object if `stand_in` exists."""
        if stand_in is None:
            names = ",".join(answers), ",".join(interfaces)
            self._stand_in = new_java(gateway.jvm, java, "lockgate_spark.jvm", "StandIn", java, self, *names, tasks)
            self.java_proxy = self._stand_in.proxy()

    def apply(self, method: str, given: Any) -> Any:
        send_at_once(self._gateway)
        return super().apply(method, () if given is None else (given,))

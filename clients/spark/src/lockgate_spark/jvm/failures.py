"""Errors on their way to Spark: one sentence, with the cause; the traceback goes to the log at
DEBUG.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from lockgate_http.errors import AlignmentError, ConfigurationError, KafkaFailed
from lockgate_spark.errors import Stopped

log = logging.getLogger("lockgate")

MOST_CHARACTERS = 1_500
"""Of an error on its way to Spark. Spark 4 looks through some by a pattern that recurses: over a
long text its thread overflows.
"""
_INTERRUPTED = (
    "InterruptedException",
    "InterruptException",
    "ClosedByInterruptException",
    "InterruptedIOException",
    "SPARK_JOB_CANCELLED",
)
_CALLBACKS = ("py4j.clientserver", "py4j.java_gateway")


def java_cause(error: BaseException) -> Any | None:
    """Return the Java error that `error` or one of its causes stands for; None without one."""
    while error is not None:
        if isinstance(error, Py4JJavaError):
            return error.java_exception
        if isinstance(error, CapturedException) and error._origin is not None:
            return error._origin
        error = error.__cause__  # type: ignore[assignment]
    return None


def root(java: Any) -> Any:
    """Return the cause of a Java error that has no cause itself."""
    for _ in range(20):
        cause = java.getCause()
        if cause is None:
            break
        java = cause
    return java


def sentence(error: BaseException) -> str:
    """Return the error as one line: its kind, and its text without any stack."""
    if isinstance(error, AlignmentError):
        return _short(f"{type(error).__name__}: {error}")
    java = java_cause(error)
    if java is not None:
        first = root(java)
        return _short(f"planning failed: {first.getClass().getSimpleName()}: {first.getMessage()}")
    text = next((line for line in str(error).splitlines() if line.strip()), "")
    return _short(f"planning failed: {type(error).__name__}: {text}")


def is_interrupt(error: BaseException) -> bool:
    """Return whether the error says that its thread was interrupted, as `query.stop()` does."""
    while error is not None:
        if isinstance(error, Py4JError | PySparkException) and any(name in str(error) for name in _INTERRUPTED):
            return True
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return False


@dataclass(frozen=True, slots=True)
class Selected:
    """What a source reads, by its options: `option`, such as subscribe, with its value `text`, from
    `brokers`. `given`: all of the options.
    """

    brokers: str
    option: str
    text: str
    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def by(cls, options: Any) -> "Selected":
        """From the options of the source, a Java map that knows no upper and lower case."""
        names = (name for name in ("subscribe", "assign", "subscribePattern") if options.containsKey(name))
        option = next(names, "subscribe")
        return cls(
            str(options.get("kafka.bootstrap.servers")),
            option,
            str(options.get(option)),
            dict(options.asCaseSensitiveMap()),
        )

    def sets_tasks(self) -> bool:
        """Return whether the options say how many tasks read a batch."""
        return any(name.lower() in ("minpartitions", "maxrecordsperpartition") for name in self.given)

    def explained(self, error: Exception, topics: Callable[[], list[str]] | None = None) -> Exception:
        """`KafkaFailed` in the place of an error of Kafka's client, and `ConfigurationError` of one
        that a value of an option has made, caused by it; any other error as it is. `topics`: those
        that the brokers have.
        """
        java = None if isinstance(error, AlignmentError) else java_cause(error)
        if java is None:
            return error
        first = root(java)
        kind, text = str(first.getClass().getSimpleName()), str(first.getMessage())
        made: AlignmentError
        if kind == "UnknownTopicOrPartitionException":
            made = KafkaFailed(self._missing(topics))
        elif kind == "TimeoutException":
            made = KafkaFailed(
                f"the brokers {self.brokers} do not answer ({text.rstrip('.')}): check kafka.bootstrap.servers, "
                "and whether this machine reaches them"
            )
        elif kind == "ConfigException":
            made = KafkaFailed(
                f"Kafka's client refuses an option: {text}. Correct the source's option, such as "
                'option("kafka.bootstrap.servers", "HOST:PORT")'
            )
        elif ".kafka.common." in str(first.getClass().getName()):
            made = KafkaFailed(f"the brokers {self.brokers}, {self.option}={self.text!r}: {kind}: {text}")
        elif kind == "NumberFormatException" and (named := self._quoted(text)):
            made = ConfigurationError(
                f"option {named}: {'expected a whole number' if text.startswith('For input') else text}"
            )
        else:
            return error
        made.__cause__ = error
        return made

    def _quoted(self, text: str) -> str:
        """Return the options whose value ends Java's error, which names no option."""
        ends = text.rstrip('"')
        return ", ".join(
            f"{name}={value}" for name, value in self.given.items() if ends.endswith((f'"{value}', f": {value}"))
        )

    def _missing(self, topics: Callable[[], list[str]] | None) -> str:
        try:
            there = topics() if topics is not None else []
        except Exception as error:
            log.debug("cannot list the topics", exc_info=error)
            there = []
        wanted = self._topics()
        missing = [topic for topic in wanted if topic not in there] or wanted
        near = sorted({name for topic in missing for name in get_close_matches(topic, there, 2, 0.7)})
        names = " and ".join(f'"{topic}"' for topic in missing)
        known = f" (did you mean {' or '.join(near)}?)" if near else ""
        what = f"topic {names}" if missing else f"topic of {self.option}={self.text!r}"
        return f"the brokers {self.brokers} have no {what}{known}: create it, or correct option({self.option!r}, …)"

    def _topics(self) -> list[str]:
        if self.option == "subscribe":
            return [topic.strip() for topic in self.text.split(",")]
        if self.option == "assign":
            try:
                return list(json.loads(self.text))
            except ValueError:
                return []
        return []


@contextmanager
def log_errors_briefly() -> Iterator[None]:
    """Log an error of the client inside a foreachBatch function as one sentence.

    Spark shows it later, below the Python traceback that PySpark's callback prints.
    """
    quiet_callbacks()
    try:
        yield
    except AlignmentError as error:
        log.debug("a foreachBatch function failed", exc_info=error)
        log.error("%s", sentence(error))
        raise


class _NotOurs(logging.Filter):
    """py4j logs each error of a callback with its traceback, at ERROR. Spark shows it, too. So the
    client's own errors, and those that `query.stop()` causes, are logged at DEBUG.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or not (isinstance(error, AlignmentError | Stopped) or is_interrupt(error)):
            return True
        log.debug("error in a callback from Spark: %s", sentence(error), exc_info=error)
        return False


_not_ours = _NotOurs()


def quiet_callbacks() -> None:
    """Keep errors that Spark shows itself, or that are not useful, out of py4j's log."""
    for name in _CALLBACKS:
        logging.getLogger(name).addFilter(_not_ours)  # a second time does nothing


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + "…"

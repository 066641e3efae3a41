"""Turns each error into one sentence with its cause, for Spark to show."""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
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
"""Spark 4 searches some messages with a pattern that overflows the stack if the text is long."""
# ClosedByInterruptException, too
_INTERRUPTED = ("InterruptedException", "InterruptException", "InterruptedIOException", "SPARK_JOB_CANCELLED")
_CALLBACKS = ("py4j.clientserver", "py4j.java_gateway")


def java_cause(error: BaseException) -> Any | None:
    """Return the Java error behind `error` or behind one of its causes; None if there is none."""
    while error is not None:
        if isinstance(error, Py4JJavaError):
            return error.java_exception
        if isinstance(error, CapturedException) and error._origin is not None:
            return error._origin
        error = error.__cause__  # type: ignore[assignment]
    return None


def root(error: BaseException) -> Any:
    """Return the innermost Java error behind `error`; None if there is none."""
    java = java_cause(error)
    while java is not None and (cause := java.getCause()) is not None:
        java = cause
    return java


def java_text(error: BaseException) -> str:
    """Return the class and the message of the innermost Java error behind `error`, if any."""
    java = root(error)
    return "" if java is None else f"{java.getClass().getSimpleName()}: {java.getMessage()}"


def sentence(error: BaseException) -> str:
    """Return the error as one line, with its type and its message but without a stack trace."""
    if isinstance(error, AlignmentError):
        text = f"{type(error).__name__}: {error}"
    elif java := java_text(error):
        text = f"planning failed: {java}"
    else:
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        text = f"planning failed: {type(error).__name__}: {first}"
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + "…"


def is_interrupt(error: BaseException) -> bool:
    """Return whether the interrupt that `query.stop()` sends has caused `error`."""
    while error is not None:
        if isinstance(error, Py4JError | PySparkException) and any(name in str(error) for name in _INTERRUPTED):
            return True
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return False


@dataclass(frozen=True, slots=True)
class Selected:
    """The topics that a source reads, as its options select them."""

    brokers: str  # the value of kafka.bootstrap.servers
    option: str  # the name of the option that selects topics, such as subscribe
    text: str  # its value
    given: Mapping[str, str] = field(default_factory=dict)  # all options of the source

    @classmethod
    def by(cls, options: Any) -> "Selected":
        """Return the selection in `options`, a Java map whose keys are case-insensitive."""
        names = (name for name in ("subscribe", "assign", "subscribePattern") if options.containsKey(name))
        option = next(names, "subscribe")
        brokers, text = str(options.get("kafka.bootstrap.servers")), str(options.get(option))
        return cls(brokers, option, text, dict(options.asCaseSensitiveMap()))

    def reads(self, topic: str, jvm: Any) -> bool:
        if self.option == "subscribePattern":
            return bool(jvm.java.util.regex.Pattern.matches(self.text, topic))
        return topic in self._topics()

    def explained(self, error: Exception, topics: Callable[[], list[str]] = list) -> Exception:
        """Return the error to show for `error`: `KafkaFailed` for an error of Kafka's client,
        `ConfigurationError` for the value of an option, else `error`. `topics` lists the brokers'
        topics.
        """
        first = None if isinstance(error, AlignmentError) else root(error)
        if first is None:
            return error
        kind, text = str(first.getClass().getSimpleName()), str(first.getMessage())
        ends = text.rstrip('"')  # with the value of an option, perhaps
        quoted = [f"{name}={value}" for name, value in self.given.items() if ends.endswith((f'"{value}', f": {value}"))]
        made: type[AlignmentError] = KafkaFailed
        if kind == "UnknownTopicOrPartitionException":
            why = self._missing(topics)
        elif kind == "TimeoutException":
            why = f"the brokers {self.brokers} do not answer ({text.rstrip('.')}): check kafka.bootstrap.servers, "
            why += "and whether this machine reaches them"
        elif kind == "ConfigException":
            why = f"Kafka's client refuses an option: {text}. Correct the source's option, such as "
            why += 'option("kafka.bootstrap.servers", "HOST:PORT")'
        elif ".kafka.common." in str(first.getClass().getName()):
            why = f"the brokers {self.brokers}, {self.option}={self.text!r}: {kind}: {text}"
        elif kind == "NumberFormatException" and quoted:
            made, why = ConfigurationError, "expected a whole number" if text.startswith("For input") else text
            why = f"option {', '.join(quoted)}: {why}"
        else:
            return error
        explained = made(why)
        explained.__cause__ = error
        return explained

    def _missing(self, topics: Callable[[], list[str]]) -> str:
        there: list[str] = []
        try:
            there = topics()
        except Exception as error:
            log.debug("cannot list the topics", exc_info=error)
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
            with suppress(ValueError):
                return list(json.loads(self.text))
        return []


def quiet_callbacks() -> None:
    """Keep lockgate's own errors, which Spark shows, and those caused by `query.stop()` out of
    py4j's log, which has each error of a callback at ERROR with its traceback. Log them at DEBUG.
    """
    for name in _CALLBACKS:
        logging.getLogger(name).addFilter(_is_unexpected)  # a second time does nothing


def _is_unexpected(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if error is None or not (isinstance(error, AlignmentError | Stopped) or is_interrupt(error)):
        return True
    log.debug("error in a callback from Spark: %s", sentence(error), exc_info=error)
    return False

"""Checks whether Spark has the classes, methods and fields that lockgate uses."""

import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from lockgate_http.errors import ConfigurationError
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import compiled, new_java
from lockgate_spark.jvm.members import ALIGN, JAVA_FILES, MEMBERS
from lockgate_spark.packages import jar_note, packages, refuse_by_version, was_tried
from lockgate_spark.spark_lines import is_connect

log = logging.getLogger("lockgate")

_SPARK = "org.apache.spark."
_OF_CONNECTOR = "sql.kafka010.KafkaRecordToRowConverter"
_CONNECTOR = ("sql.kafka010.", "kafka010.")
_KAFKA_FILES = ("Kafka", "DividedRanges")
_NO_CONNECTOR = "Spark's Kafka connector"
_SHADED = re.compile(r"([\w.]+\.)org\.apache\.kafka\.")

_judged: set[str] = set()
"""Untested versions of Spark that were found to have everything that `align` needs."""


@dataclass(frozen=True, slots=True)
class SparkMember:
    """A class, method or field of Spark that lockgate uses. `found` says whether this Spark has it,
    and `without_it` is the feature that does not work without it.
    """

    name: str
    found: bool
    without_it: str


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """The findings of `doctor`. `print` shows them as a table.

    Attributes:
        versions: Versions of Spark, PySpark, Scala and Java.
        tried: Whether this version of lockgate was tested with this Spark.
        members: All members of Spark that were looked for.
        note: A warning about the session, such as a jar that has no effect; may be empty.

    """

    versions: str
    tried: bool
    members: tuple[SparkMember, ...]
    note: str = ""

    @property
    def missing(self) -> tuple[SparkMember, ...]:
        """The members that this Spark lacks."""
        return tuple(each for each in self.members if not each.found)

    @property
    def can_align(self) -> bool:
        """Whether this Spark has everything that `align` needs."""
        return all(each.without_it != ALIGN for each in self.missing)

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.members)
        rows = [("member", "", "does not work without it")]
        rows += [(each.name, "found" if each.found else "MISSING", each.without_it) for each in self.members]
        table = [f"{name:{width}}  {state:7}  {needs}" for name, state, needs in rows]
        lost = dict.fromkeys(each.without_it for each in self.missing)
        found = f"{len(self.missing)} of {len(self.members)} members are missing. Does not work: {'; '.join(lost)}."
        found = found if lost else f"All {len(self.members)} members are there."
        verdict = f"{self.versions}: {'' if self.tried else 'not '}tested with this version of lockgate. {found}"
        return "\n".join([*table, "", verdict, *([f"Note: {self.note}."] if self.note else [])])

    __repr__ = __str__


def check_spark(spark: Any) -> None:
    """Raise `UnsupportedQuery` if the session's Spark cannot be used. One that was not tested needs
    all members that `align` needs; a warning about it is logged once.
    """
    refuse_by_version(spark)
    version = str(spark.version)
    if was_tried(version) or version in _judged:
        return
    found = examine(spark)
    untested = f"{found.versions} was not tested with this version of lockgate"
    missing = [each.name for each in found.missing if each.without_it == ALIGN]
    # A gated query needs no Kafka, and without the connector there is no stream to align.
    if lacks := ", ".join(name for name in missing if not name.startswith(_NO_CONNECTOR)):
        raise UnsupportedQuery(f"{untested}, and lacks {lacks}. Use another Spark; lockgate_spark.doctor() shows more")
    _judged.add(version)
    log.warning("%s, but has all that align() needs; lockgate_spark.doctor() shows more", untested)


def doctor(spark: SparkSession | None = None) -> Diagnosis:
    """Check that the running Spark has each private member that lockgate uses, and return the
    findings. `print` shows them as a table.

    Run it first on a vendor's build, or on a version of Spark that was not tested. It starts no job
    and does not connect to Kafka. The table also shows whether Spark's Kafka connector is missing,
    and whether this Spark ignores lockgate's server jar.

    Examples:
        >>> print(lockgate_spark.doctor())

    Args:
        spark: The session to look at. Default: the active one, or a new one with `packages()`.

    Raises:
        UnsupportedQuery: The session belongs to Spark Connect, so it has no JVM to look at.

    """
    spark = spark or SparkSession.getActiveSession() or _new_session()
    if is_connect(spark):
        raise UnsupportedQuery("doctor() needs a JVM: run python -m lockgate_spark doctor with the server's Spark")
    return examine(spark)


def _new_session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    with suppress(ConfigurationError):  # the table says that no connector is known for this Spark
        builder = builder.config("spark.jars.packages", packages())
    return builder.getOrCreate()


def examine(spark: Any) -> Diagnosis:
    """Look in the JVM of a classic session for all members of Spark that lockgate uses."""
    jvm, tried = spark._jvm, was_tried(str(spark.version))
    scala = jvm.scala.util.Properties.versionNumberString()
    java = jvm.java.lang.System.getProperty("java.version")
    versions = f"Spark {spark.version} (pyspark {pyspark.__version__}, Scala {scala}, Java {java})"
    return Diagnosis(versions, tried, tuple(_members(jvm, spark._jsparkSession, tried)), jar_note())


def _members(jvm: Any, session: Any, tried: bool) -> Iterator[SparkMember]:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    names_in = new_java(jvm, session, "lockgate_spark.jvm", "MemberNames", loader).of
    connector = names_in(_SPARK + _OF_CONNECTOR)  # None if there is none
    if connector is None:
        hint = "lockgate_spark.packages()" if tried else "none was tested with this Spark"
        yield SparkMember(f"{_NO_CONNECTOR}, {hint}", False, ALIGN)
    for needed_for, owners, names in ((feature, *each) for feature, of in MEMBERS.items() for each in of.items()):
        if owners.startswith(_CONNECTOR) and connector is None:
            continue
        called = [re.sub(r"\((.*?)\)", part, one) for one in owners.split("|") for part in (r"\1", "")]
        found_in = {owner: str(found).split("\n") for owner in called if (found := names_in(_SPARK + owner))}
        owner, there = next(iter(found_in.items()), (called[0], []))
        simple = owner.rpartition(".")[2].replace("$", ".").rstrip(".")
        if not names:
            yield SparkMember(simple, bool(found_in), needed_for)
        for each in names.split():
            found = [one for one in each.split("|") if one in there]
            yield SparkMember(f"{simple}.{(found or [each])[0]}", bool(found), needed_for)

    beside = "sql.SparkSession" if connector is None else _OF_CONNECTOR
    loader = jvm.java.lang.Class.forName(_SPARK + beside, False, loader).getClassLoader()
    shaded = _SHADED.search(str(connector))
    for room, files in JAVA_FILES.items():
        for kind, needed_for in files.items():
            if kind.startswith(_KAFKA_FILES) and connector is None:
                continue
            why = ""
            try:
                compiled(jvm, loader, f"lockgate_spark.{room}", kind, f"{kind}_looked_at", shaded[1] if shaded else "")
            except Exception as error:
                java = getattr(error, "java_exception", None)  # py4j is not there for a client of Connect
                why = " ".join(str(error if java is None else java.getMessage()).split())
            yield SparkMember(f"what {kind}.java uses{why and f' ({why})'}", not why, needed_for)

"""Checks whether Spark has the classes, methods and fields that lockgate uses."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyspark

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import compiled, new_java
from lockgate_spark.jvm.members import ALIGN, JAVA_FILES, MEMBERS
from lockgate_spark.packages import jar_note, refuse_by_version, was_tried

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
        notes = [f"Note: {self.note}."] if self.note else []
        return "\n".join([*table, "", self._verdict(), *notes])

    __repr__ = __str__

    def _verdict(self) -> str:
        known = "tested with this version of lockgate" if self.tried else "not tested with this version of lockgate"
        lost = dict.fromkeys(each.without_it for each in self.missing)
        if not lost:
            return f"{self.versions}: {known}. All {len(self.members)} members are there."
        return (
            f"{self.versions}: {known}. {len(self.missing)} of {len(self.members)} members are missing. "
            f"Does not work: {'; '.join(lost)}."
        )


def check_spark(spark: Any) -> None:
    """Raise `UnsupportedQuery` if the session's Spark cannot be used.

    A version that was not tested can be used if it has all members that `align` needs. A warning
    about it is logged once.
    """
    refuse_by_version(spark)
    version = str(spark.version)
    if was_tried(version) or version in _judged:
        return
    found = examine(spark)
    missing = [each.name for each in found.missing if each.without_it == ALIGN]
    # A gated query needs no Kafka, and without the connector there is no stream to align.
    if lacks := ", ".join(name for name in missing if not name.startswith(_NO_CONNECTOR)):
        raise UnsupportedQuery(
            f"{found.versions} was not tested with this version of lockgate, and lacks {lacks}. Use a newer lockgate, "
            "or another Spark; lockgate_spark.doctor() shows all that is looked for"
        )
    _judged.add(version)
    log.warning(
        "%s was not tested with this version of lockgate. It has all that align() needs, and is used; "
        "lockgate_spark.doctor() shows what was looked for",
        found.versions,
    )


def examine(spark: Any) -> Diagnosis:
    """Look in the JVM of a classic session for all members of Spark that lockgate uses."""
    jvm, classes = spark._jvm, _Classes(spark)
    scala = jvm.scala.util.Properties.versionNumberString()
    java = jvm.java.lang.System.getProperty("java.version")
    tried = was_tried(str(spark.version))
    return Diagnosis(
        f"Spark {spark.version} (pyspark {pyspark.__version__}, Scala {scala}, Java {java})",
        tried,
        (*_listed(classes, tried), *_compiled(classes)),
        jar_note(),
    )


def _listed(classes: "_Classes", tried: bool) -> Iterator[SparkMember]:
    if not classes.has_connector:
        hint = "lockgate_spark.packages()" if tried else "none was tested with this Spark"
        yield SparkMember(f"{_NO_CONNECTOR}, {hint}", False, ALIGN)
    for owner, names, needed_for in MEMBERS:
        if owner.startswith(_CONNECTOR) and not classes.has_connector:
            continue
        name, there = classes.names_of(owner.split("|"))
        simple = name.rpartition(".")[2].replace("$", ".").rstrip(".")
        if not names:
            yield SparkMember(simple, there is not None, needed_for)
        for each in names.split():
            found = [one for one in each.split("|") if there and one in there]
            yield SparkMember(f"{simple}.{(found or [each])[0]}", bool(found), needed_for)


def _compiled(classes: "_Classes") -> Iterator[SparkMember]:
    for room, files in JAVA_FILES.items():
        for kind, needed_for in files.items():
            if kind.startswith(_KAFKA_FILES) and not classes.has_connector:
                continue
            why = classes.compile(room, kind)
            yield SparkMember(f"what {kind}.java uses{why and f' ({why})'}", not why, needed_for)


class _Classes:
    """Looks up Spark's classes in a JVM, by their names below `org.apache.spark`."""

    def __init__(self, spark: Any) -> None:
        self._jvm, session = spark._jvm, spark._jsparkSession
        self._loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        self._names = new_java(self._jvm, session, "lockgate_spark.jvm", "MemberNames", self._loader)
        self.has_connector = self._names.of(_SPARK + _OF_CONNECTOR) is not None

    def names_of(self, owners: list[str]) -> tuple[str, set[str] | None]:
        """Return the first of the classes `owners` that exists, with the names of its methods and
        fields. If no class exists, return the first name in `owners` with None.
        """
        for owner in owners:
            found = self._names.of(_SPARK + owner)
            if found is not None:
                return owner, set(str(found).split("\n"))
        return owners[0], None

    def compile(self, room: str, kind: str) -> str:
        """Compile the Java source `kind` in the package `room`. Return the compiler's error
        message, or an empty string if there is no error.
        """
        beside, names = self.names_of([_OF_CONNECTOR, "sql.SparkSession"])
        found = _SHADED.search("\n".join(names or ()))
        shading = found[1] if found else ""
        try:
            loader = self._jvm.java.lang.Class.forName(_SPARK + beside, False, self._loader).getClassLoader()
            compiled(self._jvm, loader, f"lockgate_spark.{room}", kind, f"{kind}_looked_at", shading)
        except Exception as error:
            java = getattr(error, "java_exception", None)  # py4j is not there for a client of Connect
            return " ".join(str(error if java is None else java.getMessage()).split())
        return ""

"""The list of Spark's members that the client uses is complete, and is looked for on a Spark."""

import ast
import builtins
import collections
import json
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import Column, DataFrame, SparkSession

import lockgate_spark
from lockgate_spark import ConfigurationError, UnsupportedQuery, align
from lockgate_spark.jvm import inspection, members
from lockgate_spark.jvm.inspection import Diagnosis, SparkMember, check_spark, examine
from support.imports import SOURCES

CLIENT = Path(lockgate_spark.__file__).parent
TOUCHING = (*sorted((CLIENT / "jvm").glob("*.py")), CLIENT / "spark_lines.py")
PYTHON = (
    *(str, bytes, int, float, dict, list, set, tuple, type, BaseException),
    *(collections.Counter, collections.deque, logging, logging.Logger, json, re, re.Match, re.Pattern, time),
    *(builtins, Path, DataFrame, SparkSession, Column, F),
)
JAVA = """
    ArrayList Class HashMap IdentityHashMap Instant JavaConverters LinkedHashMap MethodHandles
    MethodType Option Properties Proxy System Thread _2 asCaseSensitiveMap collection
    containsKey currentThread exc_info filterReturnValue findStatic findVirtual forName
    getCallbackClient getCause getClass getClassLoader getConstructors getContextClassLoader
    getDeclaredField getDeclaredFields getInstant getMessage getName getOffset getOffsetAfter
    getPerThreadConnection getProperty getRules getSimpleName getSocket getSuperclass
    getTotalSeconds hasNext identityHashCode invoke invokeWithArguments isDefined isProxyClass
    java_exception java_gateway_server lang loadClass long mapAsJavaMap matches methodType
    newInstance new_array nextTransition publicLookup put putAll regex setAccessible setTcpNoDelay
    toArray toEpochMilli uuid4 versionNumberString
"""
"""Of Java, Scala, py4j and the standard library, so that every Spark has it."""
PUBLIC = """
    IOUtils ReadLimit SimpleCompiler allAvailable attemptNumber batchId codehaus connector cook emptyRDD fieldNames fs
    getAll getFileSystem getLocalProperty getNumPartitions getOrCreate getParent getPath getReadLimits hadoop janino
    listStatus mapPartitions maxRows maxTriggerDelayMs minRows mkdirs parquet
    numRowsDroppedByWatermark numShufflePartitions numStateStoreInstances operatorName readFullyToByteArray save
    setParentClassLoader setTargetVersion stateOperators
"""
"""Public API of Spark and its libraries."""
PYSPARK = "_gateway _jdf _jsc _jsparkSession _jvm _origin"  # private attributes of its Python objects
OWN = "because setEventTime proxy isPositive filtersByNow"  # of our Java files


def attributes() -> Iterator[str]:
    for file in TOUCHING:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield node.attr


def defined_in_python() -> set[str]:
    """Return every name that our packages define, and that of each attribute of Python's own."""
    found = {name for each in PYTHON for name in dir(each)}
    for root in SOURCES.values():
        for file in root.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.add(node.name)
                elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def listed() -> set[str]:
    """Return the names of the list: members, classes and the packages above them."""
    found = {*PYSPARK.split(), "org", "apache", "spark"}
    for owner, names in by_class():
        found.update(re.split(r"[|.$ ()]", f"{owner} {names}"))
    return found


def by_class() -> list[tuple[str, str]]:
    return [each for of_feature in members.MEMBERS.values() for each in of_feature.items()]


def test_members_list_has_every_touch_of_spark_in_the_sources() -> None:
    touched = set(attributes()) - defined_in_python()
    unknown = touched - listed() - set(f"{JAVA} {PUBLIC} {OWN}".split())
    assert not unknown, "add them to lockgate_spark/jvm/members.py, with what is missing without them"


def test_members_list_has_nothing_that_the_sources_do_not_touch() -> None:
    names = {one for _, names in by_class() for each in names.split() for one in each.split("|")}
    assert names <= set(attributes())


def test_members_list_has_every_java_file() -> None:
    files = {(room, file.stem) for room in ("jvm", "logs") for file in (CLIENT / room).glob("*.java")}
    listed = {(room, kind) for room, kinds in members.JAVA_FILES.items() for kind in kinds}
    assert files - listed == {("jvm", "MemberNames")}, "which is compiled to look for the others"
    assert listed <= files


def test_doctor_finds_what_a_tested_spark_has(spark: SparkSession) -> None:
    found = lockgate_spark.doctor(spark)
    missing = {each.name for each in found.missing}
    assert found.can_align
    assert found.tried
    assert missing <= {"MicroBatchExecution.sourceIdMap", "OffsetMap.offsetsMap"}, "which Spark has from 4.1 on"
    assert "StreamExecution.trigger" in str(found)


def test_doctor_names_what_is_missing_and_what_fails(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"sql.execution.QueryExecution": "analyzed analysed"}
    monkeypatch.setattr(inspection, "MEMBERS", {"a spelling": extra, "a class": {"sql.Gone": ""}})
    found = examine(spark)
    assert [(each.name, each.without_it) for each in found.missing] == [
        ("QueryExecution.analysed", "a spelling"),
        ("Gone", "a class"),
    ]
    assert "Does not work: a spelling; a class." in str(found)


def test_doctor_without_the_connector_asks_for_it_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_OF_CONNECTOR", "sql.kafka010.Gone")
    monkeypatch.setattr(inspection, "_judged", set())
    monkeypatch.setattr(inspection, "was_tried", lambda _: False)
    needed = [each.name for each in examine(spark).missing if each.without_it == members.ALIGN]
    assert needed == ["Spark's Kafka connector, none was tested with this Spark"]
    check_spark(spark)  # a gated query needs no Kafka


def test_doctor_starts_a_session_without_a_known_connector(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_packages() -> str:
        raise ConfigurationError("no Kafka connector was tried with Spark '9.1.0'")

    monkeypatch.setattr(inspection, "packages", no_packages)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    assert lockgate_spark.doctor().can_align, "which is the running session here"


def judged(monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    member = SparkMember("StreamExecution.trigger", False, without)
    monkeypatch.setattr(inspection, "_judged", set())
    monkeypatch.setattr(inspection, "examine", lambda _: Diagnosis("Spark 9.1.0", False, (member,)))


def test_unknown_spark_without_a_needed_member_is_refused_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, members.ALIGN)
    stream: Any = SimpleNamespace(sparkSession=SimpleNamespace(version="9.1.0", conf={}))
    with pytest.raises(UnsupportedQuery, match=r"Spark 9\.1\.0 .*lacks StreamExecution\.trigger.*doctor\(\)"):
        align(stream)


def test_unknown_spark_with_all_that_align_needs_is_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judged(monkeypatch, "gauges")
    for _ in range(2):
        check_spark(SimpleNamespace(version="9.1.0"))
    assert [message for message in caplog.messages if "Spark 9.1.0 was not tested" in message] == caplog.messages
    assert len(caplog.messages) == 1

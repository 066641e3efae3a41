"""The ways by which the jar comes to the driver, each with a Connect server and with a program in
Scala; and the shells of the distribution.
"""

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import support
from lockgate_testbed import jars, topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer
from lockgate_testbed.spark_programs import shell, sql
from support.environments import PATIENCE_S, Environment, InScala, OverConnect, Told, finished
from support.exact_sink import all_rows
from support.stream_jobs import StreamJob

pytestmark = pytest.mark.long

SERVICE = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>io.lockgate</groupId><artifactId>lockgate-spark-server</artifactId><version>{version}</version></project>
"""
IVY = """\
<ivysettings><settings defaultResolver="local"/><resolvers>
<ibiblio name="local" m2compatible="true" root="file://{repository}" checksums=""/></resolvers></ivysettings>
"""
WAYS = ("spark.jars", "spark.jars.packages", "spark.sql.extensions")
Conf = dict[str, str]


@pytest.fixture(scope="module")
def topic_of_ways(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("a-day-of-installations", weights=(1, 2, 4), records=2_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def ways(server_jar: Path, tmp_path: Path) -> dict[str, Conf]:
    """The conf of each way, and nothing else that brings the jar."""
    return {
        "spark.jars": by_jars(server_jar),
        "spark.jars.packages": by_packages(server_jar, tmp_path / "maven"),
        "spark.sql.extensions": by_name(server_jar, tmp_path / "without-a-service.jar"),
    }


def by_jars(jar: Path) -> Conf:
    """As `--jars` sets it: the connector comes the same way."""
    return {"spark.jars": ",".join(map(str, [jar, *jars.kafka_connector()])), "spark.driver.extraClassPath": ""}


def by_packages(jar: Path, repository: Path) -> Conf:
    """As `--packages` sets it, from a Maven repository in a folder."""
    (found,) = re.findall(r"lockgate-spark-server-(.+)\.jar", jar.name)
    folder = repository / "io" / "lockgate" / "lockgate-spark-server" / found
    folder.mkdir(parents=True)
    folder.joinpath(jar.name).write_bytes(jar.read_bytes())
    folder.joinpath(f"{jar.stem}.pom").write_text(POM.format(version=found))
    settings = repository / "ivysettings.xml"
    settings.write_text(IVY.format(repository=repository))
    coordinates = {"spark.jars.packages": f"io.lockgate:lockgate-spark-server:{found}"}
    return {**coordinates, "spark.jars.ivySettings": str(settings), "spark.jars.ivy": str(repository / "ivy")}


def by_name(jar: Path, copy: Path) -> Conf:
    """The class is named, and the jar has no service file by which Spark would find it."""
    with zipfile.ZipFile(jar) as made, zipfile.ZipFile(copy, "w") as written:
        for name in made.namelist():
            if name != SERVICE:
                written.writestr(name, made.read(name))
    classpath = ":".join(map(str, [*jars.kafka_connector(), copy]))
    extensions = {"spark.sql.extensions": "io.lockgate.spark.LockgateExtensions"}
    return {**extensions, "spark.driver.extraClassPath": classpath}


def a_job(kafka: KafkaBroker, spec: SkewedTopic, folder: Path) -> StreamJob:
    return StreamJob("installed", kafka.bootstrap, spec.name, folder / "job", 400).aligned(maxDrift="10 minutes")


def is_aligned(told: Told, job: StreamJob, spec: SkewedTopic) -> bool:
    return bool(told.metric("alignmentTarget")) and job.rows == all_rows(spec.counts())


@pytest.mark.parametrize("way", WAYS)
def test_a_connect_server_aligns_with_the_jar_by(
    way: str, ways: Mapping[str, Conf], kafka: KafkaBroker, topic_of_ways: SkewedTopic, tmp_path: Path
) -> None:
    job = a_job(kafka, topic_of_ways, tmp_path)
    with ConnectServer(conf=ways[way]) as server:
        told = finished(OverConnect(server).start(job))

    assert is_aligned(told, job, topic_of_ways)


@pytest.mark.parametrize("way", WAYS)
def test_a_program_in_scala_aligns_with_the_jar_by(
    way: str,
    ways: Mapping[str, Conf],
    in_scala: Environment,
    kafka: KafkaBroker,
    topic_of_ways: SkewedTopic,
    tmp_path: Path,
) -> None:
    assert isinstance(in_scala, InScala)
    job = a_job(kafka, topic_of_ways, tmp_path)

    told = finished(InScala(in_scala.program, ways[way]).start(job))

    assert is_aligned(told, job, topic_of_ways)


def test_a_query_typed_into_spark_shell_is_aligned_with_the_jar_by_jars(
    ways: Mapping[str, Conf], kafka: KafkaBroker, topic_of_ways: SkewedTopic, tmp_path: Path
) -> None:
    job, script = a_job(kafka, topic_of_ways, tmp_path), tmp_path / "typed.scala"
    arguments = ", ".join(map(json.dumps, job.arguments()))
    source = Path(support.__path__[0], "StreamJob.scala").read_text()
    script.write_text(f"{source}\nStreamJob.main(Array({arguments}))\n")

    told = finished(shell("spark-shell", tmp_path / "log", script, conf=ways["spark.jars"]))

    assert is_aligned(told, job, topic_of_ways)


def test_spark_sql_starts_with_the_jar_by_jars_and_has_no_stream_to_align(
    ways: Mapping[str, Conf], kafka: KafkaBroker, topic_of_ways: SkewedTopic, tmp_path: Path
) -> None:
    script = tmp_path / "script.sql"
    options = f"'kafka.bootstrap.servers' '{kafka.bootstrap}', 'subscribe' '{topic_of_ways.name}'"
    script.write_text(
        f"CREATE TABLE day USING kafka OPTIONS ({options});\n"
        "SELECT 'read in batch', count(*) FROM day;\n"
        "SELECT 'streamed', count(*) FROM STREAM day;\n"
    )
    conf = {**ways["spark.jars"], "spark.lockgate.align": "true", "spark.sql.catalogImplementation": "in-memory"}
    conf["spark.sql.warehouse.dir"] = str(tmp_path / "warehouse")
    running = sql("spark-sql", tmp_path / "log", script, conf=conf)

    with pytest.raises(Exception, match="spark-sql"):
        running.wait(PATIENCE_S)

    assert f"read in batch\t{topic_of_ways.records}" in running.output()
    assert "Kafka source has a fixed schema" in running.output(), "Spark's own refusal of a table as a stream"

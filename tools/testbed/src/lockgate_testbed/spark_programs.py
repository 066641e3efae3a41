"""The programs of Spark's distribution, each a child process of its own: spark-submit, spark-shell,
spark-sql, spark-pipelines.

Each becomes its JVM (`exec`), so that its process id is the driver's, and a kill of it leaves none
behind. All run on this machine's loopback address, with the Kafka connector on their classpath.
"""

import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from lockgate_testbed.errors import ChildFailed
from lockgate_testbed.java import java
from lockgate_testbed.process import Child
from lockgate_testbed.spark import defaults

REPL = "org.apache.spark.repl.Main"
SQL = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"
COMPILER = "scala.tools.nsc.Main"


def spark_home() -> Path:
    """Return the folder of the installed PySpark, with `bin` and `jars`."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(os.path.realpath(found.origin)).parent


def environment() -> dict[str, str]:
    """Return what a driver needs in its environment: this distribution, this Python, the loopback
    address.
    """
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1", **python}


def submitted(
    *program: object, conf: Mapping[str, str] | None = None, jars: Sequence[Path] = (), cores: int = 2
) -> list[str]:
    """Return the command line of `spark-submit PROGRAM…` over a local master.

    `conf` is laid over the defaults; `jars` are put on the driver's classpath. Raises `JavaMissing`
    and `JarsUnavailable`.
    """
    chosen = _options({"spark.master": f"local[{cores}]", **(conf or {})}, jars, cores)
    return [str(part) for part in (spark_home() / "bin" / "spark-submit", *chosen, *program)]


def submit(name: str, log: Path, *program: object, env: Mapping[str, str] | None = None, **options: object) -> Child:
    """`spark-submit PROGRAM…`, with the `options` of `submitted`; its output goes to `log`."""
    return Child(name, submitted(*program, **options), log, {**environment(), **(env or {})})  # type: ignore[arg-type]


def shell(name: str, log: Path, script: Path, env: Mapping[str, str] | None = None, **options: object) -> Child:
    """`spark-shell -I SCRIPT`, which ends with the script, for its input is empty."""
    java_options = {"SPARK_SUBMIT_OPTS": "-Dscala.usejavacp=true", "SPARK_SCALA_SHELL": "1", **(env or {})}
    return submit(name, log, "--class", REPL, "spark-shell", "-I", script, env=java_options, **options)


def sql(name: str, log: Path, script: Path, env: Mapping[str, str] | None = None, **options: object) -> Child:
    """`spark-sql -f SCRIPT`."""
    return submit(name, log, "--class", SQL, "spark-internal", "-f", script, env=env, **options)


def pipelines(
    name: str,
    log: Path,
    *arguments: object,
    conf: Mapping[str, str] | None = None,
    jars: Sequence[Path] = (),
    cores: int = 2,
    env: Mapping[str, str] | None = None,
) -> Child:
    """`spark-pipelines ARGUMENTS…`, such as `"run", "--spec", spec`; it brings a Connect server of
    its own. That one reads its conf from `spark-defaults.conf`, which is made beside the log.
    """
    folder = log.parent / "spark-conf"
    folder.mkdir(exist_ok=True)
    lines = [f"{key} {value}\n" for key, value in _conf(conf, jars, cores).items()]
    folder.joinpath("spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    first, *rest = arguments
    command = [spark_home() / "bin" / "spark-pipelines", first, "--remote", f"local[{cores}]", *rest]
    own = {**environment(), "SPARK_CONF_DIR": str(folder), **(env or {})}
    return Child(name, [str(part) for part in command], log, own)


def compiled_scala(source: Path, folder: Path) -> Path:
    """Compile a Scala source to a jar in `folder`, with the compiler that Spark brings. Raises
    `ChildFailed` with its complaint.
    """
    classes, jar = folder / f"{source.stem}-classes", folder / f"{source.stem}.jar"
    classes.mkdir(parents=True, exist_ok=True)
    found = str(spark_home() / "jars" / "*")
    flags = ("-XX:TieredStopAtLevel=1", "-Xss8m", "-cp", found, COMPILER, "-usejavacp", "-nowarn")
    done = subprocess.run(
        [java(), *flags, "-d", str(classes), str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ChildFailed(f"{source} cannot be compiled:\n{done.stdout}{done.stderr}")
    return _packed(classes, jar)


def _packed(classes: Path, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w") as written:
        for file in sorted(classes.rglob("*.class")):
            written.write(file, file.relative_to(classes))
    return jar


def _options(conf: Mapping[str, str] | None, jars: Sequence[Path], cores: int) -> list[str]:
    return [part for key, value in _conf(conf, jars, cores).items() for part in ("--conf", f"{key}={value}")]


def _conf(conf: Mapping[str, str] | None, jars: Sequence[Path], cores: int) -> dict[str, str]:
    chosen = {**defaults(cores), **(conf or {})}
    classpath = "spark.driver.extraClassPath"
    return {**chosen, classpath: os.pathsep.join([chosen[classpath], *map(str, jars)])}

"""The jar for Spark Connect, Scala, Java, SQL and pipelines."""

import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

from lockgate import __version__
from lockgate_testbed import server_jar as jar


def test_two_builds_of_the_jar_are_equal_to_the_byte(server_jar: Path, tmp_path: Path) -> None:
    again = jar.server_jar(tmp_path)

    assert again.read_bytes() == server_jar.read_bytes()
    assert again.name == f"lockgate-spark-server-{__version__}.jar"


def test_jar_has_only_its_own_entries_in_order(server_jar: Path) -> None:
    with zipfile.ZipFile(server_jar) as opened:
        names = opened.namelist()
        services = {name: opened.read(name).decode().strip() for name in names if "/services/" in name}

    # The manifest comes first, where readers of jars look for it.
    assert names == ["META-INF/MANIFEST.MF", *sorted(set(names) - {"META-INF/MANIFEST.MF"})]
    assert all(re.match(r"META-INF/|io/lockgate/spark/", name) for name in names)
    assert len(services) == 2
    assert all(f"{service.replace('.', '/')}.class" in names for service in services.values())


def test_the_jar_on_spark_35_is_refused_with_what_to_do(beside_the_jar: Callable[[str], list[str]]) -> None:
    command = beside_the_jar("SparkVersion")
    assert subprocess.run([*command, "4.0.0", "4.3.1"], check=False).returncode == 0
    refused = subprocess.run([*command, "3.5.9"], capture_output=True, text=True, check=False)
    assert "on Spark 3.5.9: the jar needs Spark 4.0 or newer. Take it off spark.jars and call" in refused.stderr

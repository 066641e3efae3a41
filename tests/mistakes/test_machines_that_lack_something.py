"""Machines and sessions that cannot do it: each in a process of its own, so with `make long`. What
they print first stands in `machines.txt`; with MISTAKES=write the test writes it anew.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("machines.txt")
LACKING = {
    "no Java": ({"JAVA_HOME": "/nowhere"}, "SparkSession.builder.getOrCreate()"),
    "no connector for Kafka": ({}, "read().load()"),
    "PYSPARK_PIN_THREAD=false": ({"PYSPARK_PIN_THREAD": "false"}, "align(rate())"),
    "a Spark Connect session": ({"SPARK_REMOTE": "local[1]"}, "align(rate())"),
}
SCRIPT = """
    from pyspark.sql import SparkSession
    from lockgate_spark import align

    def rate():
        return SparkSession.builder.getOrCreate().readStream.format("rate").load()

    def read():
        spark = SparkSession.builder.getOrCreate()
        options = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders"}
        return spark.readStream.format("kafka").options(**options)

    try:
        CODE
    except Exception as error:
        print("FIRST", type(error).__name__ + ":", str(error).splitlines()[0])
"""


def printed(env: dict[str, str], code: str) -> str:
    """The first line of the error."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT.replace("CODE", code))],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [line.removeprefix("FIRST ") for line in done.stdout.splitlines() if line.startswith("FIRST ")]
    assert lines, done.stderr[-2000:]
    return lines[0]


@pytest.mark.long
def test_what_a_machine_lacks_is_said_in_the_first_line() -> None:
    lines = "".join(f"{title}\n    {printed(env, code)}\n\n" for title, (env, code) in LACKING.items())
    if os.environ.get("MISTAKES") == "write":
        FILE.write_text(lines, encoding="utf-8")
    assert lines == FILE.read_text(encoding="utf-8")

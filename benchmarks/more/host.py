"""What the Python process beside a driver costs: `make bench-host`. Seconds until the first answer,
which starts the process; seconds of an answer after that; the process's memory.
"""

import argparse
import json
import tempfile
from pathlib import Path

from lockgate_testbed.server_jar import server_jar
from lockgate_testbed.spark_connect import ConnectServer, client

ASKS = """
import json, time
from pyspark.sql import SparkSession
from lockgate_spark.connect.asking import ask

some = SparkSession.builder.getOrCreate().range(1)
some.collect()

def seconds():
    began = time.monotonic()
    ask(some, "hello")
    return time.monotonic() - began

print(json.dumps([seconds() for _ in range(21)]))
"""


def main() -> None:
    """Run the benchmark from the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=3, help="servers, one after the other")
    for _ in range(options.parse_args().runs):
        first, later, resident = _run()
        print(f"first answer {first:.1f} s, later ones {later * 1000:.0f} ms (median), {resident:.0f} MiB resident")


def _run() -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as folder, ConnectServer(jars=[server_jar(Path(folder))]) as server:
        said = client("client", Path(folder, "log"), "-c", ASKS, server=server).wait(300)
        first, *later = json.loads(said.splitlines()[-1])
        return first, sorted(later)[len(later) // 2], _resident_mib(server.pid)


def _resident_mib(driver: int | None) -> float:
    """Of the driver's child that plans. Linux only."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in process.joinpath("status").read_text().splitlines())
            plans = b"lockgate_spark.host" in process.joinpath("cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if plans and int(status["PPid"]) == driver:
            return int(status["VmRSS"].split()[0]) / 1024
    raise SystemExit("the driver has no host")


if __name__ == "__main__":
    main()

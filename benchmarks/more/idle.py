"""The cost of a query that has nothing to read: plain Spark and aligned, in turn (`make
bench-idle`).

A query over a topic of 8 partitions reads everything and goes on running. Then, for `--seconds`,
the benchmark measures CPU time of the driver's JVM and of Python together, in cores. It counts
requests to the broker by Kafka's own client metrics in the driver. Then `--records` single records,
each at a moment of its own: how long after the broker had it foreachBatch was called.
"""

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.tables import markdown, show, spread
from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark import session

COLUMNS = ("", "plain Spark", "aligned", "aligned to plain")
PATIENCE_S = 120.0
SETTLED_S = 3.0


@dataclass(frozen=True, slots=True)
class Idle:
    """One run. `jvm`, `python`: cores; `requests`: a second; `latencies`: ms."""

    kind: str
    jvm: float
    python: float
    requests: float
    latencies: tuple[float, ...]

    @property
    def cores(self) -> float:
        """Both together."""
        return self.jvm + self.python


METER = """
public class Meter {
    public static long cpuTime() {
        Object system = java.lang.management.ManagementFactory.getOperatingSystemMXBean();
        return ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime();
    }
    public static double requests() throws Exception {
        javax.management.MBeanServer server = java.lang.management.ManagementFactory.getPlatformMBeanServer();
        javax.management.ObjectName any = new javax.management.ObjectName("kafka.*:client-id=*,*");
        double total = 0.0;
        for (java.util.Iterator names = server.queryNames(any, null).iterator(); names.hasNext();) {
            javax.management.ObjectName name = (javax.management.ObjectName) names.next();
            if (name.getKeyPropertyList().size() != 2) continue;
            try { total += ((Double) server.getAttribute(name, "request-total")).doubleValue(); }
            catch (javax.management.AttributeNotFoundException other) { }
        }
        return total;
    }
}
"""
"""What py4j cannot call, for the classes behind it are hidden in their modules; compiled in the
driver by Spark's own Janino.
"""


class Meter:
    """CPU seconds and requests so far, of this process and its JVM."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(METER)
        loaded = compiler.getClassLoader().loadClass("Meter")
        gateway: Any = spark.sparkContext._gateway
        self._none = gateway.new_array(jvm.java.lang.Object, 0)
        types = gateway.new_array(jvm.java.lang.Class, 0)
        self._cpu_time, self._requests = (loaded.getMethod(name, types) for name in ("cpuTime", "requests"))

    def read(self) -> tuple[float, float, float]:
        """(seconds of the JVM, seconds of Python, requests to Kafka)."""
        return (
            self._cpu_time.invoke(None, self._none) / 1e9,
            time.process_time(),
            self._requests.invoke(None, self._none),
        )


class Arrivals:
    """When batches with rows came."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows = 0
        self._at = 0.0

    def take(self, batch: DataFrame, _: int) -> None:
        at, rows = time.perf_counter(), batch.count()
        with self._changed:
            self._rows, self._at = self._rows + rows, at
            self._changed.notify_all()

    def wait(self, rows: int) -> float:
        """Until so many rows are in; when the last of those batches began."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._rows >= rows, PATIENCE_S), f"{self._rows} of {rows} rows"
            return self._at


def measure(spark: SparkSession, bootstrap: str, topic: SkewedTopic, kind: str, seconds: float, records: int) -> Idle:
    """One query of that kind, idle, then with one record at a time."""
    topics.load(bootstrap, topic)
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    )
    stream = reader.option("startingOffsets", "earliest").load()
    source, arrivals, meter = align(stream, Alignment()) if kind == "aligned" else stream, Arrivals(), Meter(spark)
    with tempfile.TemporaryDirectory() as checkpoint:
        query = source.writeStream.foreachBatch(arrivals.take).option("checkpointLocation", checkpoint).start()
        arrivals.wait(topic.records)
        time.sleep(SETTLED_S)
        before, began = meter.read(), time.perf_counter()
        time.sleep(seconds)
        after, took = meter.read(), time.perf_counter() - began
        latencies = [latency(bootstrap, topic, arrivals, topic.records + n) for n in range(1, records + 1)]
        query.stop()
    jvm, python, requests = ((b - a) / took for a, b in zip(before, after, strict=True))
    return Idle(kind, jvm, python, requests, tuple(latencies))


def latency(bootstrap: str, topic: SkewedTopic, arrivals: Arrivals, rows: int) -> float:
    """How long (ms) after the broker has a record foreachBatch is called for it."""
    time.sleep(0.3 + random.random() / 5)
    topics.produce(bootstrap, topic.name, [(0, int(time.time() * 1000), None, b"now")])
    produced = time.perf_counter()
    return 1000 * (arrivals.wait(rows) - produced)


def table(found: Sequence[tuple[Idle, Idle]]) -> str:
    """Return what idling costs plain Spark and an aligned query, and the ratios round by round."""
    measures: dict[str, tuple[Callable[[Idle], float], str]] = {
        "cores": (lambda idle: idle.cores, ".2f"),
        "requests/s": (lambda idle: idle.requests, ".1f"),
        "from the broker's answer to foreachBatch, ms": (_median_latency, ".0f"),
    }
    rows = []
    for name, (of, form) in measures.items():
        native, aligned = ([of(pair[n]) for pair in found] for n in (0, 1))
        ratios = [a / n for a, n in zip(aligned, native, strict=True) if n]
        rows.append((name, spread(native, form), spread(aligned, form), spread(ratios, ".2f") if ratios else "–"))
    return markdown(COLUMNS, rows)


def _median_latency(idle: Idle) -> float:
    return statistics.median(idle.latencies) if idle.latencies else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="idle seconds that are measured (default 30)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="counted rounds, each with plain Spark and aligned (default 3)"
    )
    parser.add_argument("--records", type=int, default=10, help="single records a run, for the latency (default 10)")
    chosen = parser.parse_args()
    found: list[tuple[Idle, Idle]] = []
    with KafkaBroker() as broker:
        spark = session("bench-idle", cores=2)
        for n in range(chosen.rounds + 1):
            pair = {}
            for kind in ("native", "aligned") if n % 2 else ("aligned", "native"):
                topic = SkewedTopic(f"bench-idle-{n}-{kind}", records=10_000)
                idle = measure(spark, broker.bootstrap, topic, kind, chosen.seconds if n else 5.0, chosen.records)
                pair[kind] = idle
                print(
                    f"{f'round {n}' if n else 'warm-up':8} {kind:8} {idle.cores:.3f} cores (JVM {idle.jvm:.3f}, "
                    f"Python {idle.python:.3f}),"
                    f" {idle.requests:.1f} requests/s, latency {_median_latency(idle):.0f} ms",
                    flush=True,
                )
            if n:
                found.append((pair["native"], pair["aligned"]))
        spark.stop()
    show("idle", table(found), [[asdict(native), asdict(aligned)] for native, aligned in found])


if __name__ == "__main__":
    main()

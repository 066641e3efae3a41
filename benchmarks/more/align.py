"""How long `align` takes over plans of many nodes, beside Spark's own time to make them
(`make bench-align`).

Each plan is so many `withColumn`s, one above the other. The best of several
calls counts. No broker is asked: `align` needs none.
"""

import argparse
import time

import pyspark.sql.functions as F

from benchmarks.tables import markdown, show
from lockgate_spark import align
from lockgate_testbed.spark import session

COLUMNS = ("nodes", "made by Spark", "`align`")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=[50, 100, 500, 1_000], help="withColumns (default 50 100 500 1000)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="calls of align for each (default 3)")
    arguments = parser.parse_args()
    spark = session("bench-align")
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", "127.0.0.1:9")
        .option("subscribe", "none")
        .load()
    )
    align(source.withColumn("offset", F.col("offset") + 1))  # what is done once
    found = []
    for nodes in arguments.nodes:
        df, began = source, time.perf_counter()
        for _ in range(nodes):
            df = df.withColumn("offset", F.col("offset") + 1)
        made, took = time.perf_counter() - began, []
        for _ in range(arguments.rounds):
            began = time.perf_counter()
            align(df)
            took.append(time.perf_counter() - began)
        found.append((f"{nodes:,}", f"{made:.1f} s", f"{min(took):.2f} s"))
        print(f"{nodes:6,} nodes: made by Spark in {made:6.2f} s, aligned in {min(took):5.2f} s", flush=True)
    spark.stop()
    show("align", markdown(COLUMNS, found), found)


if __name__ == "__main__":
    main()

"""An application without pinned threads: `PYSPARK_PIN_THREAD=false python unpinned_driver.py
ORDER`, the order as JSON (`support.drivers.Order`). Another reader holds the coordinator's group.

Its query is gated, is held, and is stopped. It prints `held` and `finished`.
"""

import sys
from pathlib import Path

from lockgate_spark import UnsupportedQuery, align
from lockgate_testbed.spark import session
from support.answers import wait_for
from support.drivers import Order
from support.gated import Gated, write_batches
from support.queries import kafka_stream

T0 = 1_767_225_600_000


def main(text: str) -> None:
    order = Order.parse(text)
    assert order.coordinator is not None
    spark = session(order.name)
    try:
        align(kafka_stream(spark, order.bootstrap, order.topic))
    except UnsupportedQuery as error:
        print(error, flush=True)
    batches = write_batches(Path(order.folder, "in"), [[T0], [T0 + 86_400_000]])
    gated = Gated(spark, batches, order.coordinator["url"], order.coordinator["group"])
    gated.start(Path(order.checkpoint), available_now=False).has(1)
    assert gated.views[0] is not None
    assert gated.query is not None
    wait_for(lambda: gated.query.status["message"].startswith("Processing new data"))
    print("held", flush=True)
    gated.query.stop()
    assert gated.query.exception() is None
    assert len(gated.handed) == 1
    spark.stop()
    print("finished", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

"""Two readers of one group, by the client of whichever release is on the path: what they are told,
as JSON. `python life_of_two_readers.py URL`.

It runs as a program of its own, so it imports nothing of the tests.
"""

import asyncio
import json
import sys

from lockgate.wire.events import ProgressEvent, ReaderRegistrationEvent, ReportedWatermarkEvent

try:
    from lockgate_http.calls.client import CoordinatorClient
    from lockgate_http.config import Coordinator
except ImportError:
    try:
        from lockgate_http.calls.client import CoordinatorClient
        from lockgate_http.config import Coordinator
    except ImportError:  # where the Spark client had all of it
        from lockgate_spark.group.client import CoordinatorClient  # type: ignore[import-not-found,no-redef]

        from lockgate_spark.config import Coordinator  # type: ignore[attr-defined,no-redef]

MINUTE = 60_000


async def first_of(client: CoordinatorClient) -> int:
    """The group's watermark in the first event of the stream."""
    async for event in client.events():
        if event is not None:
            return event.group_watermark
    raise AssertionError("the stream has ended")


def live(url: str) -> list[object]:
    told: list[object] = []
    with CoordinatorClient(Coordinator(url, group="life", timeout="1 minute")) as client:
        epochs = {
            name: client.register(name, ReaderRegistrationEvent(subtask=0, owner=name, attributes={"of": "life"})).epoch
            for name in ("orders", "payments")
        }
        config = client.config()
        told += [config.max_drift_ms, config.lease_ms, sorted(client.registered("orders"))]
        for orders, payments in ((10, 60), (40, 60), (60, 60)):
            reports = [
                (name, ReportedWatermarkEvent(subtask=0, epoch=epochs[name], watermark=at * MINUTE, reach=at * MINUTE))
                for name, at in (("orders", orders), ("payments", payments))
            ]
            reported = client.report(reports)
            event = reported.alignment
            told.append(
                [event.group_watermark, event.max_desired_watermark, [each.source for each in event.blocked_by]]
            )
            told.append(sorted(reported.rejected))
        stale = ReportedWatermarkEvent(subtask=0, epoch=1, watermark=0)
        told.append([type(each).__name__ for each in client.report([("orders", stale)]).rejected.values()])
        client.offer("orders", ProgressEvent(subtask=0, epoch=epochs["orders"], batch_id=1, attempt=0, splits={}))
        told.append(asyncio.run_coroutine_threadsafe(first_of(client), client._loop).result(60))
        client.leave("orders", 0, epochs["orders"])
        told.append([client.alignment().group_watermark, client.groups_from("")])
    return told


if __name__ == "__main__":
    print(json.dumps(live(sys.argv[1])))

"""What is asked, in order: every route, every status and every type of problem, by two sources of a
group and some who err.

The clock stands still within a step, so that an epoch that a reader is given is START plus the time
of its registration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.watermark import MIN
from lockgate.wire.split_codec import split_to_text

START = 1_800_000_000_000
"""The store's time of the first step, in ms."""
T = 1_767_225_600_000
"""2026-01-01, the event time that the readers are at."""
READER = "a-token-of-the-golden-exchanges-alone-0000000"
"""What may read, once a second and twice at once, where a token is wanted."""
BUSY = "another-token-of-the-golden-exchanges-0000000"
"""The token that may report, of which too many requests are under way."""
TOO_MUCH = 8 * 1024 * 1024 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request, `at` ms after START: a JSON `body`, a `text` that is none, or `blanks` spaces.

    `store_gone`: it is made to a service whose store does not answer; `guarded`: to one that wants
    tokens; `full`: to one where nobody may wait; `stopping`: to one that is about to stop;
    `damaged`: to one whose groups cannot be read.
    `frames`: of an event stream, this many are taken, then it is closed.
    """

    at: int
    method: str
    path: str
    body: Any = None
    text: str | None = None
    blanks: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    store_gone: bool = False
    guarded: bool = False
    full: bool = False
    stopping: bool = False
    damaged: bool = False
    frames: int = 0


def put(at: int, group: str, body: Any, **headers: str) -> Step:
    return Step(
        at=at,
        method="PUT",
        path=f"/v1/groups/{group}",
        body=body,
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    )


def post(at: int, path: str, body: Any) -> Step:
    return Step(at=at, method="POST", path=f"/v1/groups/{path}", body=body)


def get(at: int, path: str) -> Step:
    return Step(at=at, method="GET", path=path)


def delete(at: int, path: str) -> Step:
    return Step(at=at, method="DELETE", path=f"/v1/groups/{path}")


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def report(epoch: int, watermark: int, **more: Any) -> dict[str, Any]:
    """Return the report of a reader with number 0."""
    return {"subtask": 0, "epoch": epoch, "watermark": watermark, **more}


CONFIG = {"max_drift_ms": 30_000, "lease_ms": 10_000, "expected_sources": ["orders", "payments"]}
LEADING = {"watermark": T, "state": "active", "position": 100, "end": 900, "rows": 50}
FACTS = {
    "late_rows": 2,
    "rows_saved": 40_000,
    "retained_until": START + 7_200_000,
    "retention_split": "orders-1",
    "producer_lag_ms": 1_500,
    "event_time_rate": 60_000,
}
ORDERS, PAYMENTS = "checkout/sources/orders", "checkout/sources/payments"

CONFIGURED = [
    put(0, "checkout", CONFIG),
    put(0, "checkout", CONFIG),
    put(0, "checkout", {}, If_None_Match="*"),
    put(0, "checkout", {}, If_Match='"1"'),
    put(0, "checkout", {"max_drift": 30_000, "mode": "off"}),
]
REGISTERED = [
    post(0, f"{ORDERS}/readers", {"subtask": 0, "owner": "7c0d", "attributes": {"app": "checkout-job"}}),
    post(0, f"{PAYMENTS}/readers", {"subtask": 0}),
    post(1, f"{ORDERS}/readers", {"subtask": 0, "owner": "other"}),
    post(1, f"{ORDERS}/readers", {"subtask": -1, "takeover": 1, "attributes": {"app": 7}, "config": {"lease_ms": 1}}),
]
REPORTED = [
    post(
        1,
        f"{ORDERS}/watermarks",
        report(
            START,
            T,
            reach=T + 3_600_000,
            batch_id=3,
            facts=FACTS,
            splits={"orders-0": LEADING, "orders-1": {"watermark": T + 300_000, "state": "paused"}},
        ),
    ),
    post(2, f"{PAYMENTS}/watermarks", report(START, T + 1_000, reach=T + 1_800_000)),
    post(
        3,
        f"{ORDERS}/progress",
        {
            "subtask": 0,
            "epoch": START,
            "batch_id": 3,
            "attempt": 0,
            "splits": {"orders-0": {"watermark": T + 60_000, "position": 300, "rows": 200}},
        },
    ),
    post(
        4,
        "checkout/watermarks",
        {
            "reports": [
                {"source": "payments", "subtask": 0, "epoch": START, "watermark": MIN, "idle": True},
                {"source": "payments", "subtask": 0, "epoch": START - 1, "watermark": 5},
                {"source": "orders", "subtask": 9, "epoch": START, "watermark": 5},
                {"source": "invoices", "subtask": 0, "epoch": START, "watermark": 5},
                {"source": "orders", "subtask": True},
            ]
        },
    ),
]
REFUSED = [
    post(4, f"{ORDERS}/watermarks", report(START - 1, T)),
    post(4, f"{ORDERS}/watermarks", {"subtask": 9, "epoch": START, "watermark": T}),
    post(4, "checkout/sources/invoices/watermarks", report(START, T)),
    post(4, "nobody/sources/orders/watermarks", report(START, T)),
    post(
        4,
        f"{ORDERS}/watermarks",
        {"subtask": 0, "epoch": START, "watermark": 1.0, "splits": {"a b": {"state": "asleep"}}},
    ),
    post(4, f"{ORDERS}/progress", {"subtask": 0, "epoch": START + 1, "batch_id": 3, "attempt": 0, "splits": {}}),
    post(4, f"{ORDERS}/progress", {"subtask": 0, "epoch": START}),
    post(4, "checkout/watermarks", {"reports": {}}),
    post(4, "nobody/watermarks", {"reports": []}),
    Step(at=4, method="POST", path=f"/v1/groups/{ORDERS}/watermarks", text="{"),
    Step(at=4, method="POST", path=f"/v1/groups/{ORDERS}/watermarks", blanks=TOO_MUCH),
    post(4, f"{ORDERS}/readers", {"subtask": 9, "attributes": {"note": "x" * 8_192}}),
    Step(at=4, method="GET", path="/v1/groups/checkout", headers={"Host": "pages.example:8080"}),
    Step(at=4, method="DELETE", path="/v1/groups/checkout", headers={"Origin": "https://pages.example"}),
    Step(
        at=4,
        method="POST",
        path=f"/v1/groups/{ORDERS}/readers",
        text='{"subtask": 0, "takeover": true}',
        headers={"Content-Type": "text/plain"},
    ),
    get(4, "/v1/groups/a%20b"),
    get(4, "/v1/groups/a%2Fb"),
    get(4, "/v1/groups/nobody"),
    get(4, "/v1/groups/checkout/sources/invoices"),
    get(4, "/v1/groups?limit=1001"),
    Step(at=4, method="PATCH", path="/v1/groups/checkout"),
]
LOOKED_AT = [
    get(5, "/v1/groups/checkout/alignment"),
    get(5, f"/v1/groups/checkout/alignment?after={START + 10}&wait_ms=0"),
    get(5, "/v1/groups/checkout/alignment?after=0&wait_ms=60000"),
    get(5, "/v1/groups/checkout/sources/orders"),
    get(5, "/v1/groups/checkout"),
    get(5, "/v1/groups/checkout?limit=1"),
    get(5, "/v1/groups/checkout?limit=1&after=orders/0"),
    get(5, "/v1/groups?limit=1"),
]
EVENTS = "/v1/groups/checkout/alignment/events"
STREAMED = [
    Step(at=6, method="GET", path=EVENTS, frames=2),
    Step(at=6, method="GET", path=EVENTS, headers={"Last-Event-ID": "1"}, frames=1),
    Step(at=6, method="GET", path=EVENTS, headers={"Last-Event-ID": str(START + 4)}, frames=2),
    get(6, "/v1/groups/nobody/alignment/events"),
]
SOURCE_PAUSED = [
    Step(at=7, method="PUT", path=f"/v1/groups/{ORDERS}/pause", body={"reason": "the sink is away"}),
    Step(at=7, method="PUT", path="/v1/groups/checkout/sources/invoices/pause", body={}),
    Step(at=7, method="PUT", path=f"/v1/groups/{ORDERS}/pause", body={"because": 1}),
    get(7, "/v1/groups/checkout/alignment"),
    get(7, "/v1/groups/checkout/journal?limit=2&order=oldest"),
    get(7, "/v1/groups/checkout/journal?kind=rain"),
    get(7, "/v1/groups/checkout/samples"),
    delete(8, f"{ORDERS}/pause"),
]
GONE = [
    get(10_003, "/v1/groups/checkout/alignment"),
    get(10_003, "/v1/groups/checkout"),
    delete(10_004, f"{ORDERS}/readers/0?epoch=1"),
    delete(10_004, f"{ORDERS}/readers/0"),
    delete(10_004, f"{ORDERS}/readers/9?epoch=1"),
    delete(10_004, f"{ORDERS}/readers/0?epoch={START}"),
    delete(10_005, f"{PAYMENTS}/readers/0?force=true"),
    delete(10_005, f"{PAYMENTS}/readers/0?force=true"),
]
OBSERVED = [
    put(10_006, "dry-run", {"mode": "observe", "max_drift_ms": 0}),
    post(10_006, "dry-run/sources/orders/readers", {"subtask": 0, "ceiling": T, "config": {"lease_ms": 100}}),
    post(10_007, "dry-run/sources/orders/watermarks", report(START + 10_006, 2**53 + 1)),
]
HELD = [
    put(
        20_000,
        "backfill",
        {"max_drift_ms": 1_000, "catch_up": "strict", "max_wait_ms": 5_000, "on_max_wait": "proceed"},
    ),
    post(20_000, "backfill/sources/live/readers", {"subtask": 0}),
    post(20_000, "backfill/sources/old/readers", {"subtask": 0}),
    post(20_001, "backfill/sources/old/watermarks", report(START + 20_000, T)),
    post(20_001, "backfill/sources/live/watermarks", report(START + 20_000, T + 86_400_000)),
    get(24_000, "/v1/groups/backfill"),
    get(25_001, "/v1/groups/backfill"),
]
HOUR = 3_600_000
PARKED = [
    post(40_000, "hourly/sources/clicks/readers", {"subtask": 0, "owner": "7c0d"}),
    post(40_001, "hourly/sources/clicks/watermarks", report(START + 40_000, T, park_ms=HOUR)),
    post(40_001, "hourly/sources/clicks/watermarks", report(START + 40_000, T, park_ms=0)),
    get(1_840_001, "/v1/groups/hourly/sources/clicks"),
    post(1_840_001, "hourly/sources/clicks/readers", {"subtask": 0, "owner": "other"}),
    post(1_840_001, "hourly/sources/clicks/readers", {"subtask": 0, "owner": "7c0d"}),
    post(1_840_002, "hourly/sources/clicks/watermarks", report(START + 1_840_001, T + HOUR, park_ms=HOUR)),
    get(1_840_002 + HOUR, "/v1/groups/hourly/sources/clicks"),
]
ENDED = [
    delete(30_000, "checkout"),
    delete(30_000, "checkout"),
    get(30_001, "/v1/groups/checkout/alignment"),
    get(30_001, "/v1/token"),
    get(30_001, "/livez"),
    get(30_001, "/readyz"),
    Step(at=30_001, method="GET", path="/livez", store_gone=True),
    Step(at=30_001, method="GET", path="/readyz", store_gone=True),
    Step(at=30_001, method="GET", path="/v1/groups/checkout/alignment", store_gone=True),
]
FULL = [
    Step(at=30_001, method="PUT", path="/v1/groups/checkout", body={}, full=True),
    Step(at=30_001, method="GET", path="/v1/groups/checkout/alignment?after=9223372036854775807&wait_ms=1", full=True),
]
DENIED = [
    Step(at=30_001, method="GET", path="/readyz", stopping=True),
    Step(at=30_001, method="GET", path="/v1/groups/checkout/alignment", damaged=True),
    Step(at=30_001, method="GET", path="/livez", guarded=True),
    Step(at=30_001, method="GET", path="/v1/groups", guarded=True),
    Step(at=30_001, method="GET", path="/v1/groups", headers=bearing("nobodys"), guarded=True),
    Step(at=30_001, method="DELETE", path="/v1/groups/checkout", headers=bearing(READER), guarded=True),
    Step(at=30_001, method="GET", path="/v1/groups", headers=bearing(READER), guarded=True),
    Step(at=30_001, method="GET", path="/v1/groups", headers=bearing(READER), guarded=True),
    Step(
        at=40_000,
        method="POST",
        path="/v1/groups/checkout/watermarks",
        body={"reports": []},
        headers=bearing(BUSY),
        guarded=True,
    ),
]

ENRICH = "enrich/sources/enricher"
FIRST = START + 50_000
NUMBER = START + 52_000
"""The assignment of the two splits."""


def split(partition: int, offset: int) -> str:
    """Return a split of topic orders, as it travels."""
    return split_to_text(KafkaPartitionSplit("orders", partition, offset))


def exchange(at: int, subtask: int, epoch: int, held: list[Any], **more: Any) -> Step:
    return post(at, f"{ENRICH}/readers/{subtask}/splits", {"epoch": epoch, "held": held, **more})


ZERO = {"split": split(0, 40), "assignment": NUMBER}
ONE = {"split": split(1, 60), "assignment": NUMBER}
LIST = [split(0, EARLIEST_OFFSET), split(1, EARLIEST_OFFSET)]
OF_FIRST = f"/v1/groups/{ENRICH}/readers/0/events?epoch={FIRST}"
SPLITS = [
    post(50_000, f"{ENRICH}/readers", {"subtask": 0, "config": {"lease_ms": 10_000}}),
    exchange(50_000, 0, FIRST, [], discovery_interval_ms=300_000),
    exchange(50_001, 0, FIRST, [], discovery_interval_ms=300_000, discovered={"request": FIRST, "splits": LIST}),
    exchange(52_000, 0, FIRST, [], discovery_interval_ms=300_000),
    exchange(
        52_001,
        0,
        FIRST,
        [ZERO, ONE],
        report=report(FIRST, T),
        is_processing_backlog=True,
        source_events=[{"id": "ready-1", "event": {"ready": True}}],
    ),
    Step(at=52_001, method="GET", path=OF_FIRST, frames=4),
    post(52_002, f"{ENRICH}/readers", {"subtask": 1}),
    exchange(52_003, 1, START + 52_002, []),
    exchange(52_004, 0, FIRST, [ZERO, ONE]),
    exchange(52_005, 0, FIRST, [ZERO], given_back=[{"split": split(1, 75), "assignment": NUMBER}]),
    exchange(52_006, 1, START + 52_002, []),
    post(52_006, f"{ENRICH}/events", {"event": {"reload": True}, "subtask": 1, "id": "reload-1"}),
    exchange(52_007, 1, START + 52_002, [{"split": split(1, 80), "assignment": NUMBER + 5}]),
    get(52_007, f"/v1/groups/{ENRICH}/splits?limit=1"),
    exchange(52_008, 0, FIRST, [ZERO, ONE], seen=START + 52_008),
    exchange(52_008, 0, FIRST - 1, []),
    exchange(52_008, 9, FIRST, []),
    exchange(52_008, 0, FIRST, [{"split": "AAZv", "assignment": 0}], capacity=-1),
    exchange(52_008, 0, FIRST, [{"split": split(0, 40), "assignment": 2**60}]),
    Step(
        at=52_009,
        method="PUT",
        path=f"/v1/groups/{ENRICH}/splits",
        body={"splits": [split(0, EARLIEST_OFFSET)], "bounded": True},
    ),
    Step(at=52_009, method="PUT", path=f"/v1/groups/{ENRICH}/splits", body={"split": []}),
    get(52_009, "/v1/groups/enrich/sources/nobody/splits"),
    get(52_009, f"{OF_FIRST}0"),
    delete(52_010, f"{ENRICH}/readers/1?epoch={START + 52_002}"),
    get(52_010, f"/v1/groups/{ENRICH}/splits"),
]

SCENARIO = [
    *CONFIGURED,
    *REGISTERED,
    *REPORTED,
    *REFUSED,
    *LOOKED_AT,
    *STREAMED,
    *SOURCE_PAUSED,
    *GONE,
    *OBSERVED,
    *HELD,
    *ENDED,
    *FULL,
    *DENIED,
    *PARKED,
    *SPLITS,
]

"""Adverse scenarios over logs that lie there when the query begins: payloads without a time, equal
names on two clusters, losses that are counted, transactions that are open, slices over restarts.
"""

from dataclasses import replace
from random import Random
from typing import Any

from lockgate_testbed.skew import T0_MS
from seeded.beside import Beside
from seeded.feeds import Numbers, backlog
from seeded.live import COUNTED
from seeded.scenario import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    Act,
    Append,
    Create,
    End,
    Finish,
    Kind,
    Operator,
    Query,
    Scenario,
    Send,
    Source,
    Stamp,
    Start,
    in_turn,
)
from seeded.shapes import logs, readable, sends, weave

NO_NUMBERS = ("abc", "", "null", "1e30", "2026-01-01")
TOO_LARGE = ("9223372036854775807", "-9223372036854775808", "9007199254740993000")
MODES: dict[str, dict[str, Any]] = {"aligned": {}, "counted": {"late_rows": "count"}, "observed": {"mode": "observe"}}
READ = (  # in which mode, and by which expression
    ("counted", "cast"),
    ("observed", "cast"),
    ("aligned", "cast"),
    ("counted", "try_cast"),
    ("observed", "try_cast"),
    ("observed", "timestamp"),
    ("counted", "timestamp"),
)


def payloads(seed: int, chance: Random) -> Scenario:
    """Payloads that are no time, or one that overflows: a query that reads them natively does so
    aligned, counted and observed.
    """
    beside, (mode, expression) = Beside.of(seed, chance), in_turn(seed, READ)
    partitions, records = chance.randint(2, 4), chance.randint(200, 500)
    made = sends("a", logs(chance, records, partitions, HOUR_MS))
    bad = [chance.choice(NO_NUMBERS), chance.choice(TOO_LARGE)]
    share = chance.choice((0.05, 0.1))
    splits = [
        replace(
            send,
            stamps=tuple(_spoiled(chance, stamp, bad) if chance.random() < share else stamp for stamp in send.stamps),
        )
        for send in made
    ]
    delay = chance.choice((MINUTE_MS, 5 * MINUTE_MS))
    query = Query(
        chance.choice((Operator.COUNT, Operator.DEDUP)),
        delay,
        SECOND_MS,
        (_source("a", records, chance, beside),),
        MODES[mode],
        in_payload=True,
        event_time=expression,
        **beside.shape,
    )
    title = f"{', '.join(map(repr, bad))} by {expression}, {mode}, delay {readable(delay)}; {beside.said}"
    acts = (Create("a", partitions), Append(tuple(weave(splits))), *beside.replayed(chance.randint(1, 2)))
    return Scenario(seed, Kind.PAYLOADS, title, query, acts, T0_MS)


def _spoiled(chance: Random, stamp: Stamp, texts: list[str]) -> Stamp:
    return replace(stamp, text=chance.choice(texts))


def two_clusters(seed: int, chance: Random) -> Scenario:
    """One query over topics of one name on two clusters."""
    beside, records = Beside.of(seed, chance), chance.randint(150, 400)
    delay, span, mode = chance.choice((MINUTE_MS, 5 * MINUTE_MS)), HOUR_MS, chance.choice(tuple(MODES))
    partitions = chance.randint(1, 3), chance.randint(1, 3)
    names = ("a", "a@1")
    made = [
        sends(name, logs(chance, records, n, span), 10_000 * i)
        for i, (name, n) in enumerate(zip(names, partitions, strict=True))
    ]
    sources = tuple(_source(name, records, chance, beside) for name in names)
    query = Query(chance.choice(COUNTED), delay, SECOND_MS, sources, MODES[mode], **beside.shape)
    acts = (
        *(Create(name, n) for name, n in zip(names, partitions, strict=True)),
        Append(tuple(send for splits in made for send in weave(splits))),
        *beside.replayed(chance.randint(1, 2)),
    )
    title = f"{partitions[0]} and {partitions[1]} partitions, {mode}, delay {readable(delay)}; {beside.said}"
    return Scenario(seed, Kind.CLUSTERS, title, query, acts, T0_MS)


def counted(seed: int, chance: Random) -> Scenario:
    """Rows are lost, or late, and lockgate says how many: in one run, or in two that read all
    there is.
    """
    beside, mode = Beside.of(seed, chance), chance.choice(("observed", "observed", "counted"))
    partitions, records = chance.randint(2, 4), chance.randint(300, 800)
    span = chance.choice((HOUR_MS, 6 * HOUR_MS))
    delay = chance.choice((30 * SECOND_MS, MINUTE_MS))
    made = sends("a", logs(chance, records, partitions, span))
    first = [replace(send, stamps=send.stamps[: len(send.stamps) // 2]) for send in made]
    second = [replace(send, stamps=send.stamps[len(send.stamps) // 2 :]) for send in made]
    between: tuple[Act, ...] = ()
    if beside.returns != "one run":
        between = (Start(), Finish(), *beside.gone)
    query = Query(
        chance.choice(COUNTED),
        delay,
        chance.choice((SECOND_MS, MINUTE_MS)),
        (_source("a", records, chance, beside),),
        MODES[mode],
        **beside.shape,
    )
    title = f"{query.operator.value}, {mode}, {beside.shape['actions']} actions, delay {readable(delay)}; {beside.said}"
    acts = (
        Create("a", partitions),
        Append(tuple(weave(_some(first)))),
        *between,
        Append(tuple(weave(_some(second)))),
        Start(),
        Finish(reads_all=beside.returns == "one run"),  # a producer that is a year behind may bring more
    )
    return Scenario(seed, Kind.FIGURES, title, query, acts, T0_MS)


def _some(splits: list[Send]) -> list[Send]:
    return [send for send in splits if send.stamps]


def left_open(seed: int, chance: Random) -> Scenario:
    """A transaction is open while one run under `availableNow` reads the rest, and ended before
    the next one.
    """
    numbers, beside = Numbers(), Beside.of(seed, chance)
    delay, lag = chance.choice((SECOND_MS, 5 * SECOND_MS)), chance.randint(20, 90) * SECOND_MS
    commits = chance.random() < 0.8
    shut = backlog(numbers, "a", 0, lag + 20 * SECOND_MS, lag + 10 * SECOND_MS, 500)
    open_ = backlog(numbers, "a", 0, lag + 10 * SECOND_MS, lag, 500)
    other = Append((backlog(numbers, "a", 1, lag + 30 * SECOND_MS, 1, 500),))
    before = [replace(shut, transaction="a-0"), End(0, "a-0")] if chance.random() < 0.6 else []
    options = {**beside.options, "kafka.isolation.level": "read_committed"}
    query = Query(chance.choice(COUNTED), delay, SECOND_MS, (Source(("a",), options=options),), **beside.shape)
    title = (
        f"{'committed' if commits else 'aborted'} afterwards, {'' if before else 'nothing before it, '}"
        f"{readable(lag)} behind, delay {readable(delay)}; {beside.said}"
    )
    acts = (
        Create("a", 2),
        Append((*before, replace(open_, transaction="a-0"))),
        other,
        Start(),
        Finish(reads_all=False),
        *beside.gone,
        Append((End(0, "a-0", commits),)),
        Start(),
        Finish(),
    )
    return Scenario(seed, Kind.OPEN, title, query, acts)


def sliced(seed: int, chance: Random) -> Scenario:
    """A backfill in whole windows that is interrupted."""
    beside, window = Beside.of(seed, chance), chance.choice((MINUTE_MS, HOUR_MS))
    partitions, records, count = chance.randint(1, 4), chance.randint(200, 600), chance.randint(5, 9)
    splits = sends("a", logs(chance, records, partitions, count * window))
    source = _source("a", records, chance, beside)
    query = Query(Operator.ROWS, 0, window, (source,), {"slice": window}, **beside.shape)
    title = f"slices of {readable(window)}, {partitions} partitions; {beside.said}"
    acts = (Create("a", partitions), Append(tuple(weave(splits))), *beside.replayed(1))
    return Scenario(seed, Kind.SLICED, title, query, acts, T0_MS, whole=True)


def _source(topic: str, records: int, chance: Random, beside: Beside) -> Source:
    budget = max(20, records // chance.randint(3, 5))
    return Source((topic,), options={"maxOffsetsPerTrigger": budget, **beside.options})

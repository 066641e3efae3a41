"""Live scenarios: producers that keep to the clock for some seconds, on time, behind it, or in
transactions.
"""

from dataclasses import replace
from random import Random
from typing import Any

from lockgate_spark.planning.startup_grace import LONGEST_WATCH_S
from seeded.feeds import FEED_MS, Numbers, backlog, in_transactions, interval, steadily
from seeded.scenario import (
    MINUTE_MS,
    SECOND_MS,
    Act,
    Append,
    Create,
    End,
    Finish,
    Kind,
    Operator,
    ProcessAll,
    Query,
    Scenario,
    Send,
    Settle,
    Source,
    Start,
    Stop,
    Warm,
    in_turn,
)
from seeded.shapes import readable

SETTLES_S = 4.0
CAREFUL_S = 5.0 + LONGEST_WATCH_S  # a new query has looked at its silent partitions by then
ALONE_MS = 3_500  # a producer shows itself for so long before the others come
COUNTED = (Operator.COUNT, Operator.DEDUP)


def on_time(seed: int, chance: Random) -> Scenario:
    """Producers that are on time beside partitions that are silent, or always were: nothing is
    waited for.
    """
    numbers, partitions = Numbers(), chance.randint(2, 4)
    silent = chance.choice(("silent from the first", "silent for a while", "none silent"))
    way = in_turn(seed, ("live", "live", "processAllAvailable()", "availableNow"))
    feeds = partitions if silent == "none silent" else partitions - 1
    delay = chance.choice((SECOND_MS, 2 * SECOND_MS, 5 * SECOND_MS, 10 * SECOND_MS, 2 * MINUTE_MS))
    lag = chance.randint(0, 300)
    history = [backlog(numbers, "a", p, 30 * SECOND_MS, 1, chance.randint(300, 1000)) for p in range(feeds)]
    if silent == "silent for a while":
        history.append(backlog(numbers, "a", feeds, 10 * MINUTE_MS, 5 * MINUTE_MS, 10 * SECOND_MS))
    lasts = 8 * SECOND_MS if way == "live" else 2 * SECOND_MS
    live = Append(
        tuple(s for p in range(feeds) for s in steadily(numbers, "a", p, chance.randint(50, 250), lag, 0, lasts)), True
    )
    acts: dict[str, tuple[Act, ...]] = {
        "live": (Start(interval(chance)), Warm(CAREFUL_S), live, Settle(SETTLES_S), Stop()),
        "processAllAvailable()": (Start(interval(chance)), ProcessAll(), live, ProcessAll(), Stop()),
        "availableNow": (Start(), Finish(), live, Start(), Finish()),
    }
    return Scenario(
        seed=seed,
        kind=Kind.ON_TIME,
        title=f"{way}, {silent}, delay {readable(delay)}, {partitions} partitions",
        query=Query(
            chance.choice(COUNTED),
            delay,
            SECOND_MS,
            (Source(("a",)),),
            {} if chance.random() < 0.8 else {"max_drift": delay},
        ),
        acts=(Create("a", partitions), Append(tuple(history)), *acts[way]),
        fresh=way != "processAllAvailable()",
    )


def lagging(seed: int, chance: Random) -> Scenario:
    """One producer appends behind the clock, and the others are on time. The query waits for the
    lag that it has shown, and no more.
    """
    numbers, partitions = Numbers(), chance.randint(2, 3)
    # 5 s to 30 min, short ones as often as long ones
    lag = round(5 * 360 ** chance.random()) * SECOND_MS
    delay = chance.choice((2 * SECOND_MS, 5 * SECOND_MS, 20 * SECOND_MS, 2 * MINUTE_MS))
    way = in_turn(seed, ("shown before", "shown before", "shown before a restart", "cold", "declared"))
    cold = way == "cold"
    begin = 0 if cold else ALONE_MS
    first = [backlog(numbers, "a", 0, lag + 2 * SECOND_MS, lag, 500)]
    if cold:  # the others are there from the first
        first += [backlog(numbers, "a", p, MINUTE_MS, 1, 500) for p in range(1, partitions)]
    feed = list(steadily(numbers, "a", 0, chance.randint(80, 250), lag))
    for p in range(1, partitions):
        if not cold:  # they were away, and bring what they have
            feed.append(backlog(numbers, "a", p, min(lag, 90 * SECOND_MS), 100, 500, begin))
        feed += steadily(numbers, "a", p, chance.randint(50, 200), 20, begin + 100)
    start = Start(interval(chance))
    paced: list[Act] = [Append(tuple(feed), paced=True)]
    if way.endswith("restart"):
        alone, all_of_them = (tuple(s for s in feed if (s.at_ms < begin) is early) for early in (True, False))
        together = tuple(replace(send, at_ms=send.at_ms - begin) for send in all_of_them)
        paced = [Append(alone, paced=True), Stop(), start, Append(together, paced=True)]
    return Scenario(
        seed=seed,
        kind=Kind.LAGGING,
        title=f"{readable(lag)} behind, {way}, delay {readable(delay)}, {partitions} partitions",
        query=Query(
            chance.choice(COUNTED),
            delay,
            SECOND_MS,
            (Source(("a",)),),
            {"idle_timeout": lag + MINUTE_MS} if way == "declared" else {},
        ),
        acts=(
            Create("a", partitions),
            Append(tuple(first)),
            start,
            Warm(),
            *paced,
            Settle(SETTLES_S),
            Stop(),
        ),
        fresh=True,
    )


def transactions(seed: int, chance: Random) -> Scenario:
    """One producer in transactions, behind the clock, with some aborted and some long open, beside
    one on time without.
    """
    numbers = Numbers()
    committed, declared = in_turn(seed, ((True, True), (False, True), (True, False), (True, True), (False, False)))
    commit = chance.randrange(1_000, 2_600, 100)
    lag = chance.randint(5, 12) * SECOND_MS
    delay = chance.choice((SECOND_MS, 2 * SECOND_MS, 3 * SECOND_MS))
    first = Send(0, "a", 0, backlog(numbers, "a", 0, lag + SECOND_MS, lag, 500).stamps, "a-0")
    steps: list[Send | End] = list(in_transactions(chance, numbers, "a", 0, commit, lag))
    begin = 0 if declared else 2 * commit + 2 * SECOND_MS
    steps += steadily(numbers, "a", 1, chance.randint(50, 100), 10, begin, max(FEED_MS, begin + 5 * SECOND_MS))
    alignment: dict[str, Any] = {"idle_timeout": lag + 4 * commit + SECOND_MS} if declared else {}
    level = {"kafka.isolation.level": "read_committed"} if committed else {}
    title = (
        f"{'' if committed else 'un'}committed reads, a commit each {readable(commit)}, {readable(lag)} behind, "
        f"delay {readable(delay)}"
    )
    return Scenario(
        seed=seed,
        kind=Kind.TRANSACTIONS,
        title=f"{title}, {'idle_timeout set' if declared else 'shown before'}",
        query=Query(chance.choice(COUNTED), delay, SECOND_MS, (Source(("a",), options=level),), alignment),
        acts=(
            Create("a", 2),
            Append((first, End(0, "a-0"))),
            Start(interval(chance)),
            Warm(),
            Append(tuple(steps), paced=True),
            Settle(SETTLES_S),
            Stop(),
        ),
        fresh=True,
    )

"""Adverse live scenarios: clocks that are off, units that are wrong, and producers that are far
behind, slow, or later and later.
"""

from collections.abc import Iterator
from random import Random

from seeded.beside import Beside
from seeded.changes import IS_SEEN_S
from seeded.feeds import Numbers, backlog, interval, steadily
from seeded.live import COUNTED, SETTLES_S
from seeded.scenario import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    Act,
    Append,
    Create,
    DriverClock,
    End,
    Kind,
    Query,
    Scenario,
    Send,
    Settle,
    Source,
    Stamp,
    Start,
    Stop,
    Warm,
    in_turn,
)
from seeded.shapes import readable

SEEN_MS = 25 * SECOND_MS  # by then a driver's clock that is behind has been noticed
PART_MS = 4 * SECOND_MS  # before the query comes back, and as long again after it
IN_SECONDS_MS = 1_766_000_000_000  # how far behind the clock a time in seconds is, read as ms: some 56 years


def in_seconds(seed: int, chance: Random) -> Scenario:
    """One producer stamps seconds for milliseconds, all of its records or some: the others are
    read as if it were not there.
    """
    numbers, beside, partitions = Numbers(), Beside.of(seed, chance, live=True), chance.randint(2, 3)
    delay, wrong = chance.choice((10 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS)), partitions - 1
    first_too = chance.random() < 0.5
    history = [_recent(numbers, p) for p in range(wrong)]
    if first_too:
        history.append(backlog(numbers, "a", wrong, IN_SECONDS_MS + SECOND_MS, IN_SECONDS_MS, 200))

    def part() -> Append:
        feed = [send for p in range(wrong) for send in _on_time(chance, numbers, p)]
        feed += steadily(numbers, "a", wrong, chance.randint(200, 500), IN_SECONDS_MS, 0, PART_MS)
        return Append(tuple(feed), paced=True)

    start = Start(interval(chance))
    acts = (Append(tuple(history)), start, Warm(), part(), *beside.back(start), part())
    return _live(
        seed,
        chance,
        Kind.SECONDS,
        f"{'from the first record on' if first_too else 'from its first live record on'}, delay {readable(delay)}",
        beside,
        delay,
        partitions,
        acts,
        fresh=True,
        reads_all=True,
    )


def driver_off(seed: int, chance: Random) -> Scenario:
    """The driver's clock is off throughout, or leaps for some seconds, with one partition on time,
    one behind, and a silent one. All producers together are as far behind as a clock is ahead.
    """
    numbers, beside = Numbers(), Beside.of(seed, chance, live=True)
    way = in_turn(seed, ("behind", "leaps ahead", "ahead", "leaps back", "leaps ahead"))
    off = chance.choice((30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS))
    delay, lag = chance.choice((2 * SECOND_MS, 5 * SECOND_MS)), chance.randint(6, 10) * SECOND_MS
    signed = -off if way.endswith(("behind", "back")) else off
    history = [
        _recent(numbers, 0),
        backlog(numbers, "a", 1, lag + 2 * SECOND_MS, lag, 500),
        backlog(numbers, "a", 2, off * 9 // 10, off // 2, off // 20),
    ]

    def part(alone_ms: int = 0, lasts: int = PART_MS) -> Append:
        feed = list(steadily(numbers, "a", 1, chance.randint(80, 200), lag, 0, alone_ms + lasts))
        feed += _on_time(chance, numbers, 0, alone_ms, lasts)
        return Append(tuple(feed), paced=True)

    start = Start(interval(chance))
    leap: tuple[Act, ...] = ()
    if way.startswith("leaps"):
        leap = (DriverClock(signed), part(), DriverClock(0))
    constantly = () if leap else (DriverClock(signed),)
    rest = part(lasts=SEEN_MS) if way == "behind" else part()
    acts = (*constantly, Append(tuple(history)), start, Warm(), part(PART_MS), *leap, *beside.back(start), rest)
    title = f"{way} by {readable(off)}, one producer {readable(lag)} behind, delay {readable(delay)}"
    return _live(seed, chance, Kind.DRIVER, title, beside, delay, 3, acts, fresh=bool(leap), reads_all=way != "ahead")


def ahead(seed: int, chance: Random) -> Scenario:
    """A producer stamps some records ahead of the clock, and is on time again."""
    numbers, beside, partitions = Numbers(), Beside.of(seed, chance, live=True), chance.randint(2, 3)
    delay, leap = chance.choice((5 * SECOND_MS, 10 * SECOND_MS)), chance.choice((MINUTE_MS, 5 * MINUTE_MS, HOUR_MS))
    wrong = chance.choice((1, 1, 3))
    history = Append(tuple(_recent(numbers, p) for p in range(partitions)))

    def part() -> Iterator[Send]:
        for p in range(partitions):
            yield from _on_time(chance, numbers, p)

    stray = Send(SECOND_MS, "a", 0, tuple(Stamp(numbers.take(), -leap) for _ in range(wrong)))
    start = Start(interval(chance))
    first, second = Append((*part(), stray), paced=True), Append(tuple(part()), paced=True)
    title = f"{wrong} of its records {readable(leap)} ahead, delay {readable(delay)}"
    acts = (history, start, Warm(), first, *beside.back(start), second)
    return _live(seed, chance, Kind.AHEAD, title, beside, delay, partitions, acts)


def slow(seed: int, chance: Random) -> Scenario:
    """A producer far behind appends now and then, from the first plan on; another one is on time,
    and has brought as much as lies between them.
    """
    numbers, beside = Numbers(), Beside.of(seed, chance, live=True)
    lag = chance.choice((10 * MINUTE_MS, 3 * HOUR_MS, 3 * HOUR_MS, 20 * HOUR_MS))
    every, delay = chance.randint(2_500, 3_200), chance.choice((10 * SECOND_MS, MINUTE_MS))
    history = [backlog(numbers, "a", 0, lag + 2 * MINUTE_MS, 1, lag // 300)]
    if chance.random() < 0.7:
        history.append(backlog(numbers, "a", 1, lag + MINUTE_MS, lag + 10 * SECOND_MS, 10 * SECOND_MS))

    def part(times: int) -> Append:
        begin, lasts = chance.randint(every - 1_000, every), times * every
        feed = [*steadily(numbers, "a", 1, every, lag, begin, lasts), *_on_time(chance, numbers, 0, 0, lasts)]
        return Append(tuple(feed), paced=True)

    start = Start(interval(chance))
    title = f"{readable(lag)} behind, a record each {readable(every)}, delay {readable(delay)}"
    acts = (Append(tuple(history)), start, part(4), *beside.back(start), part(3))
    return _live(seed, chance, Kind.SLOW, title, beside, delay, 2, acts)


def growing(seed: int, chance: Random) -> Scenario:
    """A producer falls behind while the query runs, or is as far behind throughout. Before a query
    is killed, it was on time in a run of its own.
    """
    numbers, beside = Numbers(), Beside.of(seed, chance, live=True)
    grows = beside.returns == "killed" or in_turn(seed, (True, True, True, False, False))
    delay, lag = chance.choice((SECOND_MS, 2 * SECOND_MS)), chance.randint(5, 7) * SECOND_MS
    lag = lag if grows else 3 * lag
    history = [_recent(numbers, 0), backlog(numbers, "a", 1, 30 * SECOND_MS, 0 if grows else lag, 500)]
    every = chance.randint(80, 200)

    def part(lasts: int, falls: bool, begin: int = 0) -> Append:
        late = [
            Send(at, "a", 1, (Stamp(numbers.take(), min(at * 9 // 10, lag) if falls else lag),))
            for at in range(begin, begin + lasts, every)
        ]
        return Append((*late, *_on_time(chance, numbers, 0, 0, begin + lasts)), paced=True)

    # the other one is read meanwhile; after hours a producer is waited for only if it is soon back
    away = 1_500 if beside.returns == "hours later" else 5_000
    start = Start(interval(chance))
    on_time = Append(tuple(send for p in range(2) for send in _on_time(chance, numbers, p)), paced=True)
    acts = (
        Append(tuple(history)),
        start,
        Warm(),
        *((on_time, Stop(), start) if beside.returns == "killed" else ()),
        part(lag + 2 * SECOND_MS if grows else PART_MS, grows),
        *beside.back(start),
        part(PART_MS, falls=False, begin=away),
    )
    title = f"{'up to ' if grows else ''}{readable(lag)} behind, delay {readable(delay)}"
    return _live(seed, chance, Kind.GROWING, title, beside, delay, 2, acts)


def _live(
    seed: int,
    chance: Random,
    kind: Kind,
    title: str,
    beside: Beside,
    delay: int,
    partitions: int,
    acts: tuple[Act, ...],
    fresh: bool = False,
    reads_all: bool = False,
) -> Scenario:
    in_payload = chance.random() < 0.4
    query = Query(
        chance.choice(COUNTED),
        delay,
        SECOND_MS,
        (Source(("a",), options=beside.options),),
        in_payload=in_payload,
        **beside.shape,
    )
    return Scenario(
        seed=seed,
        kind=kind,
        title=f"{title}{', event time in the payload' if in_payload else ''}; {beside.said}",
        query=query,
        acts=(
            Create("a", partitions),
            *acts,
            Settle(IS_SEEN_S, reads_all=True) if reads_all else Settle(SETTLES_S),
            Stop(),
        ),
        fresh=fresh,
    )


def _recent(numbers: Numbers, partition: int) -> Send:
    return backlog(numbers, "a", partition, 30 * SECOND_MS, 1, 500)


def _on_time(
    chance: Random, numbers: Numbers, partition: int, begin_ms: int = 0, lasts_ms: int = PART_MS
) -> Iterator[Send | End]:
    return steadily(numbers, "a", partition, chance.randint(100, 250), 20, begin_ms, begin_ms + lasts_ms)

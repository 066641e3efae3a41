"""The exact result of a query for the records that it has read, and the records that are missing
from the result it gave. Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from seeded.played import Batch, Lane, Record, Split
from seeded.scenario import Operator, Query


@dataclass(frozen=True, slots=True)
class Tally:
    """`due`: the rows of an exact result. `lost`: records that were read and are not in the result.
    `extra`: rows too many.
    """

    due: int
    lost: tuple[Record, ...]
    extra: int


@dataclass(frozen=True, slots=True)
class Readings:
    """The records with an event time that a lane has read, in order. `by`: the batch of each
    record, by its place in the log.
    """

    records: tuple[Record, ...]
    by: Mapping[tuple[Split, int], Batch]

    def batch(self, record: Record) -> Batch:
        """Where it was read. Raises `KeyError` where it was not."""
        return self.by[record.split, record.offset]


def readings(lane: Lane, records: Iterable[Record]) -> Readings:
    """Off the ends of the batches alone."""
    at: dict[tuple[Split, int], Record] = {
        (record.split, record.offset): record for record in records if record.visible_at is not None
    }
    by: dict[tuple[Split, int], Batch] = {}
    read: list[Record] = []
    position = dict(lane.begins)
    for batch in lane.batches:
        for split, end in batch.ends.items():
            for offset in range(position.get(split, 0), end):
                if (found := at.get((split, offset))) is not None:
                    by[split, offset] = batch
                    if found.timed:
                        read.append(found)
            position[split] = max(end, position.get(split, 0))
    return Readings(tuple(read), by)


def tally(query: Query, lane: Lane, read: Readings, deleted: Mapping[Split, int]) -> Tally:
    """The rows that are missing and those that are too many. Nobody knows whether records that
    Kafka deleted were there to be read.
    """
    return _TALLIES[query.operator](query, lane, read, deleted)


def _rows(query: Query, lane: Lane, read: Readings, deleted: Mapping[Split, int]) -> Tally:
    given = Counter(row[0] for batch in lane.batches for row in batch.rows)
    due: dict[int, Record] = {}
    for record in read.records:
        due.setdefault(record.n, record)
    lost = tuple(r for n, r in due.items() if not given[n] and r.offset >= deleted.get(r.split, 0))
    return Tally(len(due), lost, sum((given - Counter(dict.fromkeys(due, 1))).values()))


def _counts(query: Query, lane: Lane, read: Readings, deleted: Mapping[Split, int]) -> Tally:
    given: dict[object, int] = {}
    for batch in lane.batches:
        given.update({(Split(str(t), int(str(p))), s): int(str(c)) for t, p, s, c in batch.rows})
    cells: dict[object, list[Record]] = defaultdict(list)
    for record in read.records:
        cells[record.split, record.event_time - record.event_time % query.size_ms].append(record)
    # Rows of a window are late from some batch on, and so the missing ones are those that were read
    # last.
    lost = tuple(r for cell, records in cells.items() for r in records[min(given.get(cell, 0), len(records)) :])
    return Tally(
        len(read.records), lost, sum(max(0, count - len(cells.get(cell, ()))) for cell, count in given.items())
    )


def _sessions(query: Query, lane: Lane, read: Readings, deleted: Mapping[Split, int]) -> Tally:
    given = Counter(row for batch in lane.batches for row in batch.rows)
    closed = lane.batches[-1].watermark if lane.batches else 0
    due: dict[tuple[object, ...], list[Record]] = {}
    for split, records in _by_split(read.records).items():
        for session in _sessions_of(sorted(records, key=lambda r: r.event_time), query.size_ms):
            begin, end = session[0].event_time, session[-1].event_time + query.size_ms
            if end <= closed:
                due[split.topic, split.partition, begin, end, len(session)] = session
    lost = tuple(r for cell, session in due.items() if not given[cell] for r in _missing(cell, session, given, read))
    right = sum(min(1, given[cell]) for cell in due)
    # a session that lost its rows in the middle comes as two, say
    wrong = sum(given.values()) - right
    return Tally(sum(map(len, due.values())), lost, 0 if lost else wrong)


def _missing(
    cell: tuple[object, ...], session: list[Record], given: Mapping[tuple[object, ...], int], read: Readings
) -> list[Record]:
    topic, partition, begin, end, _ = cell
    parts = [
        row
        for row in given
        if row[:2] == (topic, partition) and int(str(row[2])) >= int(str(begin)) and int(str(row[3])) <= int(str(end))
    ]
    kept = sum(int(str(row[4])) * given[row] for row in parts)
    last_first = sorted(session, key=lambda r: read.batch(r).number, reverse=True)
    return last_first[: max(1, len(session) - kept)]


def _sessions_of(records: Sequence[Record], gap: int) -> list[list[Record]]:
    found: list[list[Record]] = []
    for record in records:
        if found and record.event_time <= found[-1][-1].event_time + gap:
            found[-1].append(record)
        else:
            found.append([record])
    return found


def _pairs(query: Query, lane: Lane, read: Readings, deleted: Mapping[Split, int]) -> Tally:
    """The first topic's records by their `n`; a partner in the second names it as its key, and lies
    up to `size_ms` later.
    """
    given = Counter(row for batch in lane.batches for row in batch.rows)
    first = query.sources[0].topics[0]
    lefts = {r.n: r for r in read.records if r.split.topic == first}
    rights = [r for r in read.records if r.split.topic != first]
    partners = {
        (left.n, r.n): (left, r)
        for r in rights
        if (left := lefts.get(r.key)) is not None and 0 <= r.event_time - left.event_time <= query.size_ms
    }
    due: dict[tuple[object, ...], Record] = {
        pair: max(both, key=lambda r: read.batch(r).number) for pair, both in partners.items()
    }
    unclear: set[tuple[object, ...]] = set()
    if query.operator is Operator.OUTER:
        closed = lane.batches[-1].watermark if lane.batches else 0
        with_partner = {left for left, _ in partners}
        alone: dict[tuple[object, ...], Record] = {(n, None): r for n, r in lefts.items() if n not in with_partner}
        due |= {row: r for row, r in alone.items() if r.event_time + query.size_ms + query.delay_ms < closed}
        unclear = alone.keys() - due.keys()  # whether they come yet hangs on the last batches
    lost = tuple(r for row, r in due.items() if not given[row])
    extra = sum(max(0, count - (row in due or row in unclear)) for row, count in given.items())
    return Tally(len(due), lost, extra)


def _by_split(records: Iterable[Record]) -> dict[Split, list[Record]]:
    found: dict[Split, list[Record]] = defaultdict(list)
    for record in records:
        found[record.split].append(record)
    return found


_TALLIES: dict[Operator, Callable[[Query, Lane, Readings, Mapping[Split, int]], Tally]] = {
    Operator.ROWS: _rows,
    Operator.DEDUP: _rows,
    Operator.PROCESSOR: _rows,
    Operator.COUNT: _counts,
    Operator.SESSION: _sessions,
    Operator.INNER: _pairs,
    Operator.OUTER: _pairs,
}


def late_from(query: Query, record: Record) -> int:
    """The watermark (ms) at which a row is late."""
    if query.operator is Operator.COUNT:
        return record.event_time - record.event_time % query.size_ms + query.size_ms
    if query.operator is Operator.SESSION:
        return record.event_time + query.size_ms
    return record.event_time

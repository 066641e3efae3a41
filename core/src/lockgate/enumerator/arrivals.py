"""Arrivals: a split that moves from one reader to another blocks its group on the way.

A split that its old reader has given back is in no report until its new reader has opened it and
has read from it. If it was the split furthest behind, the group would run ahead meanwhile, and the
split's records would be late wherever the readers' outputs are joined.

The rule. When a reader gives up a split, the enumerator keeps the split's watermark from that
reader's last report. The split is then *arriving* at its next reader, which counts in the group as
if it had reported the split with that watermark (`Reader.arriving`). The split has arrived once the
reader holds it under its number, and has reported it with a watermark or as idle. A report that
comes along with the exchange and names no splits counts for all splits that the reader holds.

    A holds it        A gives it back            B holds it, and has read of it
    ──────────────────┬──────────────────────────┬─────────────────────────────
    A's report has it │ B counts as if it had it │ B's report has it

There is no gap: A reports the split until the exchange that gives it back is answered, and from
then on B counts with it. A reader that restarts under its own number counts with the splits that
its older epoch still holds.

What bounds the wait. A split that no reader can get, because the list no longer names it, blocks no
reader. A split on its way to a reader that is lost goes to the next one, or blocks none if no
reader is alive. Nor do idle splits, and splits without a known watermark, block any reader.

In Flink the job restarts when splits move, and the `WatermarkAggregator` keeps a subtask's last
watermark until the subtask reports again.
"""

from itertools import chain

from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.enumerator.work import Work
from lockgate.group.group import Group
from lockgate.group.reader import Arriving, Reader
from lockgate.group.reporting import RESTING
from lockgate.steps import Steps, for_each
from lockgate.watermark import MIN
from lockgate.wire.split_events import SplitExchange


class LastReports:
    """The last reports of one source's readers about their splits. A `group` of None has none."""

    def __init__(self, group: Group | None, source: str) -> None:
        self._group, self._source = group, source

    def watermark(self, subtask: int, id: str) -> int | None:
        """Return the split's watermark (ms) in the reader's last report, or None if the report does
        not name the split, or the split blocks no reader.
        """
        reader = self._reader(subtask)
        if reader is None or reader.reported is None or reader.reported.idle or reader.reported.finished:
            return None
        split = reader.reported.splits.get(id)
        if split is None or split.state in RESTING or split.watermark == MIN:
            return None
        return split.watermark

    def shows(self, reader: ReaderId, id: str, *, reports_now: bool) -> bool:
        """Return whether the last report of this epoch covers the split. `reports_now` is true if
        the report came along with the exchange that lists the reader's splits.
        """
        known = self._reader(reader[0])
        if known is None or known.reported is None or known.reported.epoch != reader[1]:
            return False
        split = known.reported.splits.get(id)
        if split is None:
            return reports_now and not known.reported.splits
        return split.watermark > MIN or split.state in RESTING

    def _reader(self, subtask: int) -> Reader | None:
        return None if self._group is None else self._group.readers.get((self._source, subtask))


def take_over(work: Work, reader: ReaderId) -> Steps[None]:
    """Let a new epoch of a reader count with the splits that its older epochs hold or will get, and
    remove older epochs that hold nothing.
    """
    older = [each for each in work.epochs(reader[0]) if each != reader]
    if not older:
        return
    work.arrive(reader, work.arriving(older[-1]))
    work.keep_arriving(older[-1], ())

    def note(id: str) -> None:
        stood = work.stood_at(reader[0], id)
        if stood is not None:
            work.arrive(reader, {id: stood})

    yield from for_each(chain.from_iterable(map(work.held, older)), note)
    yield from work.release([each for each in older if not work.held(each)])


def arrived(work: Work, reader: ReaderId, event: SplitExchange, reports: LastReports) -> Steps[None]:
    """Remove the splits on their way to this reader that have arrived or will never arrive."""
    arriving, coming = work.arriving(reader), list[str]()
    if not arriving:
        return
    named = {each.split.split_id: each.assignment for each in event.held}
    reports_now = event.report is not None
    own, missing = work.held(reader), work.now.missing

    def comes(id: str) -> bool:
        if id in missing:
            return False
        if id not in own:
            holder = work.holder(id)
            return holder is not None and holder[0] == reader[0]
        return named.get(id) != own[id].number or not reports.shows(reader, id, reports_now=reports_now)

    yield from for_each(arriving, lambda id: coming.append(id) if comes(id) else None)
    work.keep_arriving(reader, coming)


def arriving(before: Enumerator | None, after: Enumerator, reader: ReaderId) -> dict[int, Arriving | None]:
    """Return, by subtask, the split furthest behind of those on their way to the reader, or None.
    The result includes `reader` and every reader for which it may have changed.
    """
    was = {} if before is None else {id: each.arriving for id, each in before.readers.items() if each.arriving}
    now = {id: each.arriving for id, each in after.readers.items() if each.arriving}
    changed = {id[0] for id in was.keys() | now.keys() if was.get(id) is not now.get(id)} | {reader[0]}
    newest = after.newest()
    found = dict[int, Arriving | None]()
    for subtask in changed:
        splits = now.get((subtask, newest.get(subtask, 0)), {})
        lowest = min(((at, id) for id, at in splits.items()), default=None)
        found[subtask] = None if lowest is None else Arriving(split=lowest[1], watermark=lowest[0])
    return found

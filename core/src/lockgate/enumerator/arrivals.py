"""Arrivals: how a split limits its group while it moves from one reader to another.

A split that its old reader has given back is in no report until its new reader has opened it and
has read from it. Without a rule, the group could run ahead of the split meanwhile, and the split's
records would be late once the readers' outputs are joined.

When a reader gives up a split, the enumerator keeps the split's watermark from that reader's last
report. The split is then *arriving* at its next reader. That reader counts in the group as if it
had reported the split with that watermark (`Reader.arriving`). The split has arrived once the
reader names it with its assignment number, and has reported it with a watermark or as idle. A
report that is part of an exchange and names no splits counts for all splits that the reader holds.

    A holds it        A gives it back            B holds it, and has read from it
    ──────────────────┬──────────────────────────┬─────────────────────────────
    A's report has it │ B counts as if it had it │ B's report has it

There is no gap: A reports the split until the exchange that gives it back is answered, and from
then on the split counts for B. If a reader restarts with the same subtask number, the splits that
its older epoch still holds count for the newer epoch.

Some arriving splits block no reader: idle ones, those without a known watermark, and those that no
reader can get because the list of splits no longer names them. If the next reader is lost, its
arriving splits go to another reader. If the source has no living reader, its arriving splits block
no reader of the group.

In Flink the job restarts when splits move, and the `WatermarkAggregator` keeps a subtask's last
watermark until the subtask reports again.
"""

from collections.abc import Mapping
from itertools import chain

from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.enumerator.work import Work
from lockgate.group.reader import Arriving, Reader, ReaderKey
from lockgate.group.reporting import RESTING
from lockgate.steps import Steps, for_each
from lockgate.watermark import MIN
from lockgate.wire.split_events import SplitExchange


class LastReports:
    """The last split reports of a source's readers, out of all `readers` of its group."""

    def __init__(self, readers: Mapping[ReaderKey, Reader], source: str) -> None:
        self._readers, self._source = readers, source

    def watermark(self, subtask: int, id: str) -> int | None:
        """Return the watermark (ms) of split `id` in the last report of the reader `subtask`.

        Return None if no watermark is known, or if the split or its reader is idle or finished.
        """
        reader = self._readers.get((self._source, subtask))
        if reader is None or reader.reported is None or reader.reported.idle or reader.reported.finished:
            return None
        split = reader.reported.splits.get(id)
        if split is None or split.state in RESTING or split.watermark == MIN:
            return None
        return split.watermark

    def shows(self, reader: ReaderId, id: str, *, reports_now: bool) -> bool:
        """Return whether `reader` has reported split `id` as idle, finished or with a watermark.

        A report that names no splits counts for all of them if it came with the present exchange
        (`reports_now`), and otherwise for none.
        """
        known = self._readers.get((self._source, reader[0]))
        if known is None or known.reported is None or known.reported.epoch != reader[1]:
            return False
        split = known.reported.splits.get(id)
        if split is None:
            return reports_now and not known.reported.splits
        return split.watermark > MIN or split.state in RESTING


def take_over(work: Work, reader: ReaderId) -> Steps[None]:
    """Record the splits of the reader's older epochs as arriving at `reader`, its new epoch.

    Splits that block no reader are left out. Older epochs that hold no splits are removed.
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
    """Remove the splits that have arrived, or never will, from the reader's arriving splits."""
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
    """Return a map from each subtask to its arriving split with the lowest watermark, or to None if
    the subtask has no arriving splits.

    The map contains the subtask of `reader`, and all subtasks whose arriving splits may differ
    between `before` and `after`. `before` is None for a new enumerator.
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

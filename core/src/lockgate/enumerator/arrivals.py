"""Arrivals: a split that goes from one reader to another holds the group on its way.

A split that its old reader has given back is in nobody's report until its new reader has opened it
and read of it. If it was the one furthest behind, the group would run ahead meanwhile, and the
split's records would be late for all that joins the readers' outputs.

The rule. When a split leaves a reader's hands, the enumerator notes where that reader's last report
saw it. The split is then *arriving* at its next reader, and that one counts in the group as if it
had reported the split there (`Reader.arriving`). It has arrived once the reader holds it under its
number, and has reported it: with a watermark of its own, or as idle. A report that names no splits,
and comes along with the exchange, speaks for those that the reader holds.

    A holds it        A gives it back            B holds it, and has read of it
    ──────────────────┬──────────────────────────┬─────────────────────────────
    A's report has it │ B counts as if it had it │ B's report has it

No gap is between: A reports the split until the exchange that gives it back is answered; by then B
counts. A reader that begins anew under its own number counts with what its older epoch still holds.

What bounds the wait. A split that no reader can get, since a list no longer names it, holds nobody.
One that is on its way to a reader that is lost goes to the next one; where no reader lives it holds
nobody, as the group's configuration says of lost readers. An idle split, and one of which nothing
was known, hold nobody on their way either.

Flink has no such state: when splits move there, the job restarts, and until a subtask reports anew
its last watermark stands in the `WatermarkAggregator`.
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
        """Return the split's watermark (ms) in the reader's last report; None if it did not name
        the split, or the split blocks nobody.
        """
        reader = self._reader(subtask)
        if reader is None or reader.reported is None or reader.reported.idle or reader.reported.finished:
            return None
        split = reader.reported.splits.get(id)
        if split is None or split.state in RESTING or split.watermark == MIN:
            return None
        return split.watermark

    def shows(self, reader: ReaderId, id: str, *, reports_now: bool) -> bool:
        """Return whether the last report of this epoch speaks for the split. `reports_now`: it came
        along with what the reader says of its splits.
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
    """Let a new epoch of a reader count with what its older epochs hold, and with what is on its
    way to them. An older epoch that holds nothing is removed, since it has nothing to give back.
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
    """Forget what is on its way to this reader no longer: it has come, or will not come."""
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
    """Return, by subtask, the split on its way to the reader that is furthest behind, or None if
    there is none. The result has `reader`, and each reader for which it may have changed.
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

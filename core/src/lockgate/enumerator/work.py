"""The mutable copy of an enumerator, from which its next value is made.

Only `Work` moves splits between readers, free splits and finished splits, so that no split is ever
in two places. Only the parts that change are copied, so the store does not write the others again.
"""

from bisect import insort
from collections.abc import Callable, Collection, Mapping, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner, newest_of
from lockgate.group.group import tick
from lockgate.steps import Steps, for_each

Reported = Callable[[int, str], int | None]
"""`(subtask, split id) -> watermark (ms) in the last report, or None if it blocks no reader`."""


def _nothing(subtask: int, id: str) -> None:
    return None


class Work:
    """The changes to the enumerator `before`, made at `now_ms`. `result` returns the changed
    enumerator.

    `now` is an enumerator, not a time. It contains the changes except those to readers, splits,
    last number and revision.
    """

    def __init__(self, before: Enumerator, now_ms: int, reported: Reported = _nothing) -> None:
        self.now = before
        self.now_ms = now_ms
        self._reported = reported
        self.readers: dict[ReaderId, SplitOwner] = dict(before.readers)
        self.last_number = before.last_number
        self._epochs: dict[int, list[ReaderId]] | None = None
        self._holders: dict[str, ReaderId] | None = None
        self._moved = False
        self._number: int | None = None
        self._held: dict[ReaderId, dict[str, OwnedSplit]] = {}
        self._revoked: dict[ReaderId, MutableSet[str]] = {}
        self._arriving: dict[ReaderId, dict[str, int]] = {}
        self._free: dict[str, FreeSplit] | None = None
        self._finished: dict[str, FreeSplit] | None = None

    @property
    def so_far(self) -> Enumerator:
        """The enumerator `now` with the changed readers, but without changes to their splits."""
        return replace(self.now, readers=self.readers)

    @property
    def free(self) -> Mapping[str, FreeSplit]:
        return self.now.free if self._free is None else self._free

    @property
    def finished(self) -> Mapping[str, FreeSplit]:
        return self.now.finished if self._finished is None else self._finished

    def held(self, reader: ReaderId) -> Mapping[str, OwnedSplit]:
        """Return the splits that a reader holds, by split id."""
        return self._held[reader] if reader in self._held else self.readers[reader].held

    def revoked(self, reader: ReaderId) -> AbstractSet[str]:
        """Return the ids of the splits that a reader has to give back."""
        return self._revoked[reader] if reader in self._revoked else self.readers[reader].revoked

    def arriving(self, reader: ReaderId) -> Mapping[str, int]:
        """Return the watermarks (ms) of the splits on their way to a reader, by split id."""
        return self._arriving[reader] if reader in self._arriving else self.readers[reader].arriving

    def holder(self, id: str) -> ReaderId | None:
        """Return the reader that holds a split, or None. The first call builds an index."""
        if self._holders is None:
            self._holders = {id: reader for reader in self.readers for id in self.held(reader)}
        return self._holders.get(id)

    def newest(self) -> dict[int, int]:
        return newest_of(self.readers)

    def set(self, **values: Any) -> None:
        self.now = replace(self.now, **values)

    def set_reader(self, id: ReaderId, reader: SplitOwner) -> None:
        """Add a reader, or replace its values. The methods below change its splits."""
        if id not in self.readers:
            insort(self.epochs(id[0]), id)
        self.readers[id] = reader

    def hold(self, reader: ReaderId, held: OwnedSplit, id: str = "") -> None:
        """Record that a reader holds a split, or replace the values of one that it holds already.

        The split must be in no other place. An empty `id` is computed from the split.
        """
        into, id = self._opened(reader), id or held.split.split_id
        was = into.get(id)
        if was is not None and not self.is_in_doubt(held):
            self.settle(reader, was)
        self._moved |= was is None or was.number != held.number
        into[id] = held
        if self._holders is not None:
            self._holders[id] = reader

    def assign(self, dealt: Sequence[tuple[ReaderId, str]]) -> Steps[None]:
        """Assign free splits to readers, all under the assignment number of this `Work` (`number`).
        `dealt` lists pairs: a reader, and the id of a split to assign to it.
        """
        if not dealt:
            return
        self._moved, self._holders = True, None
        free, number, now_ms = self._opened_free(), self.number(), self.now_ms

        def give(one: tuple[ReaderId, str]) -> None:
            reader, id = one
            taken = free.pop(id)
            self._opened(reader)[id] = OwnedSplit(split=taken.split, number=number, since=now_ms)
            if taken.watermark is not None:
                self._opened_arriving(reader)[id] = taken.watermark

        yield from for_each(dealt, give)

    def take(self, reader: ReaderId, id: str) -> OwnedSplit:
        """Take a split from a reader and return it. The caller must put it elsewhere."""
        self._moved = True
        if id in self.revoked(reader):
            self._opened_revoked(reader).discard(id)
        if id in self.arriving(reader):
            del self._opened_arriving(reader)[id]
        if self._holders is not None:
            self._holders.pop(id, None)
        taken = self._opened(reader).pop(id)
        self.settle(reader, taken)
        return taken

    def is_in_doubt(self, held: OwnedSplit) -> bool:
        """Return whether a commit that the store lost may have moved the split: the split was
        assigned before the loss, and its reader has not presented it since.
        """
        return held.number <= self.now.known_to and held.since < self.now.began_at

    def settle(self, reader: ReaderId, held: OwnedSplit) -> None:
        """If the split is in doubt, assign nothing for one lease, as another reader may read it."""
        until = self.now_ms + self.readers[reader].lease_ms
        if self.is_in_doubt(held) and self.now.assigning_at < until:
            self.set(assigning_at=until)

    def give_up(self, reader: ReaderId, id: str, number: int) -> None:
        """Free a reader's split, and record `number` as its last number."""
        watermark = self.stood_at(reader[0], id)
        self.put_free(FreeSplit(split=self.take(reader, id).split, number=number, last=reader[0], watermark=watermark))

    def take_free(self, id: str) -> FreeSplit:
        """Remove a free split and return it. The caller must put it elsewhere."""
        return self._opened_free().pop(id)

    def put_free(self, free: FreeSplit, id: str = "") -> None:
        """Add a free split, which must be in no other place. `id` is computed if it is empty."""
        self._moved = True
        self._opened_free()[id or free.split.split_id] = free

    def finish(self, finished: FreeSplit) -> None:
        """Record a split as finished. It must be in no other place."""
        self._moved = True
        if self._finished is None:
            self._finished = dict(self.now.finished)
        self._finished[finished.split.split_id] = finished

    def release(self, readers: Sequence[ReaderId]) -> Steps[None]:
        """Free all splits of these readers, and remove the readers."""

        def free(one: tuple[ReaderId, str, OwnedSplit]) -> None:
            reader, id, each = one
            subtask, stood = reader[0], self.stood_at(reader[0], id)
            self.settle(reader, each)
            self.put_free(FreeSplit(split=each.split, number=each.number, last=subtask, watermark=stood), id)

        yield from for_each(((reader, *item) for reader in readers for item in self.held(reader).items()), free)
        for reader in readers:
            self._forget(reader)

    def epochs(self, subtask: int) -> list[ReaderId]:
        """Return the epochs of one subtask, the newest one last."""
        if self._epochs is None:
            self._epochs = {}
            for id in sorted(self.readers):
                self._epochs.setdefault(id[0], []).append(id)
        return self._epochs.setdefault(subtask, [])

    def stood_at(self, subtask: int, id: str) -> int | None:
        """Return the watermark (ms) that a split of `subtask` contributes to its group.

        While the split is arriving, this is its watermark at the previous reader. After that, it is
        the one in the subtask's last report. Return None if the split blocks no reader.
        """
        epochs = self.epochs(subtask)
        at = self.arriving(epochs[-1]).get(id) if epochs else None
        return self._reported(subtask, id) if at is None else at

    def arrive(self, reader: ReaderId, watermarks: Mapping[str, int]) -> None:
        if watermarks:
            self._opened_arriving(reader).update(watermarks)

    def keep_arriving(self, reader: ReaderId, ids: Collection[str]) -> None:
        arriving = self.arriving(reader)
        if len(ids) != len(arriving):
            self._arriving[reader] = {id: arriving[id] for id in ids}

    def revoke(self, reader: ReaderId, ids: AbstractSet[str]) -> None:
        """Ask the reader to give back these splits, and no others."""
        if self.revoked(reader) != ids:
            self._moved = True
            self._revoked[reader] = set(ids)

    def number(self) -> int:
        """Return the assignment number that all changes of this `Work` share: the time (ms), or the
        last number + 1 if that is higher.
        """
        if self._number is None:
            self._number = self.last_number = tick(self.last_number, self.now_ms)
        return self._number

    def begin_at(self, number: int) -> None:
        """Make later assignments and events use numbers above `number`. This increments the
        enumerator's revision.
        """
        self._moved, self.last_number = True, number

    def result(self) -> Steps[Enumerator]:
        """Return the enumerator with all changes. A changed assignment raises its revision."""
        yield from for_each({**self._held, **self._revoked, **self._arriving}, self._close)
        return replace(
            self.now,
            revision=tick(self.now.revision, self.now_ms) if self._moved else self.now.revision,
            last_number=self.last_number,
            readers=self.readers,
            free=self.free,
            finished=self.finished,
        )

    def _forget(self, reader: ReaderId) -> None:
        """Remove a reader whose splits have been freed.

        Other splits on their way to the removed reader now arrive at the newest remaining epoch of
        the subtask.
        """
        held, arriving, epochs = self.held(reader), self.arriving(reader), self.epochs(reader[0])
        self._holders = None
        for opened in (self._held, self._revoked, self._arriving):
            opened.pop(reader, None)
        del self.readers[reader]
        epochs.remove(reader)
        if epochs and arriving:
            self.arrive(epochs[-1], {id: at for id, at in arriving.items() if id not in held})

    def _close(self, reader: ReaderId) -> None:
        """Write the changed splits of a reader into its entry in `readers`."""
        owner = self.readers[reader]
        revoked = frozenset(self._revoked[reader]) if reader in self._revoked else owner.revoked
        self.readers[reader] = replace(owner, held=self.held(reader), revoked=revoked, arriving=self.arriving(reader))

    def _opened(self, reader: ReaderId) -> dict[str, OwnedSplit]:
        if reader not in self._held:
            self._held[reader] = dict(self.readers[reader].held)
        return self._held[reader]

    def _opened_revoked(self, reader: ReaderId) -> MutableSet[str]:
        if reader not in self._revoked:
            self._revoked[reader] = set(self.readers[reader].revoked)
        return self._revoked[reader]

    def _opened_arriving(self, reader: ReaderId) -> dict[str, int]:
        if reader not in self._arriving:
            self._arriving[reader] = dict(self.readers[reader].arriving)
        return self._arriving[reader]

    def _opened_free(self) -> dict[str, FreeSplit]:
        if self._free is None:
            self._free = dict(self.now.free)
        return self._free

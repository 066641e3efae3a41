"""Work on one enumerator: its values in changeable form, until the next value is made of them.

Every move of a split from one place to another goes through here, so that none is ever in two
places. Only what is touched is copied, and what is not touched is the same object afterwards: the
store writes nothing of it. Used by the modules beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner, newest_of
from lockgate.group.group import tick

Reported = Callable[[int, str], int | None]
"""Where a subtask's last report saw a split, by the split's id; None: it holds nobody there."""


def _nothing(subtask: int, id: str) -> None:
    return None


class Work:
    """The enumerator `before`, and what has become of it at `now_ms`."""

    def __init__(self, before: Enumerator, now_ms: int, reported: Reported = _nothing) -> None:
        self.now_ms = now_ms
        self._reported = reported
        self.readers: dict[ReaderId, SplitOwner] = dict(before.readers)
        self.last_number = before.last_number
        self._before = before
        self._epochs: dict[int, list[ReaderId]] | None = None
        self._moved = False
        self._number: int | None = None
        self._values: dict[str, Any] = {}
        self._held: dict[ReaderId, dict[str, OwnedSplit]] = {}
        self._free: dict[str, FreeSplit] | None = None
        self._finished: dict[str, FreeSplit] | None = None

    @property
    def now(self) -> Enumerator:
        """The enumerator as it would be now, but for what readers hold, splits that are free or
        finished, and its revision.
        """
        return replace(self._before, **self._values) if self._values else self._before

    @property
    def free(self) -> Mapping[str, FreeSplit]:
        return self._before.free if self._free is None else self._free

    @property
    def finished(self) -> Mapping[str, FreeSplit]:
        return self._before.finished if self._finished is None else self._finished

    def held(self, reader: ReaderId) -> Mapping[str, OwnedSplit]:
        """What a reader holds."""
        return self._held[reader] if reader in self._held else self.readers[reader].held

    def newest(self) -> dict[int, int]:
        """The newest epoch of each subtask."""
        return newest_of(self.readers)

    def set(self, **values: Any) -> None:
        """Other values of the enumerator itself."""
        self._values |= values

    def set_reader(self, id: ReaderId, reader: SplitOwner) -> None:
        """A new reader, or other values of one. What it holds is changed by the methods below."""
        if id not in self.readers:
            self.epochs(id[0]).append(id)
        self.readers[id] = reader

    def hold(self, reader: ReaderId, held: OwnedSplit, id: str = "") -> None:
        """Puts a split that is in no other place into a reader's hands; or renews it there. `id`:
        where it is known already.
        """
        into, id = self._opened(reader), id or held.split.split_id
        was = into.get(id)
        self._moved |= was is None or was.number != held.number
        into[id] = held

    def assign(self, reader: ReaderId, ids: Sequence[str]) -> None:
        """Gives free splits to a reader, under a new number."""
        if not ids:
            return
        self._moved = True
        into, free, number, now_ms = self._opened(reader), self._opened_free(), self.number(), self.now_ms
        arriving = dict[str, int]()
        for id in ids:
            taken = free.pop(id)
            into[id] = OwnedSplit(split=taken.split, number=number, since=now_ms)
            if taken.watermark is not None:
                arriving[id] = taken.watermark
        self.arrive(reader, arriving)

    def take(self, reader: ReaderId, id: str) -> OwnedSplit:
        """Takes a split out of a reader's hands. The caller puts it elsewhere."""
        self._moved = True
        owner = self.readers[reader]
        if id in owner.revoked:
            self.readers[reader] = replace(owner, revoked=owner.revoked - {id})
        if id in owner.arriving:
            self.keep_arriving(reader, owner.arriving.keys() - {id})
        return self._opened(reader).pop(id)

    def give_up(self, reader: ReaderId, id: str, number: int) -> None:
        """A split of a reader becomes free, under this number."""
        watermark = self.stood_at(reader[0], id)
        self.put_free(FreeSplit(split=self.take(reader, id).split, number=number, last=reader[0], watermark=watermark))

    def take_free(self, id: str) -> FreeSplit:
        """Takes a free split. The caller puts it elsewhere."""
        return self._opened_free().pop(id)

    def put_free(self, free: FreeSplit, id: str = "") -> None:
        """A split that is in no other place is free. `id`: where it is known already."""
        self._moved = True
        self._opened_free()[id or free.split.split_id] = free

    def finish(self, finished: FreeSplit) -> None:
        """A split that is in no other place is finished."""
        self._moved = True
        if self._finished is None:
            self._finished = dict(self._before.finished)
        self._finished[finished.split.split_id] = finished

    def release(self, reader: ReaderId) -> None:
        """All splits of a reader become free, and the reader is gone."""
        for id, each in self.held(reader).items():
            stood = self.stood_at(reader[0], id)
            self.put_free(FreeSplit(split=each.split, number=each.number, last=reader[0], watermark=stood), id)
        self._held.pop(reader, None)
        self.epochs(reader[0]).remove(reader)
        gone = self.readers.pop(reader)
        for older in self.epochs(reader[0]) if gone.arriving else ():
            held = self.held(older)
            self.arrive(older, {id: at for id, at in gone.arriving.items() if id in held})

    def epochs(self, subtask: int) -> list[ReaderId]:
        """The epochs of one subtask that there are."""
        if self._epochs is None:
            self._epochs = {}
            for id in self.readers:
                self._epochs.setdefault(id[0], []).append(id)
        return self._epochs.setdefault(subtask, [])

    def stood_at(self, subtask: int, id: str) -> int | None:
        """Where a split in a subtask's hands stands for its group, ms; None: it holds nobody."""
        for epoch in self.epochs(subtask):
            if id in self.readers[epoch].arriving:
                return self.readers[epoch].arriving[id]
        return self._reported(subtask, id)

    def arrive(self, reader: ReaderId, watermarks: Mapping[str, int]) -> None:
        """These splits are on their way to the reader, too."""
        if watermarks:
            owner = self.readers[reader]
            self.readers[reader] = replace(owner, arriving={**owner.arriving, **watermarks})

    def keep_arriving(self, reader: ReaderId, ids: AbstractSet[str]) -> None:
        """Of the splits on their way to the reader only these are."""
        owner = self.readers[reader]
        if len(ids) != len(owner.arriving):
            self.readers[reader] = replace(owner, arriving={id: owner.arriving[id] for id in ids})

    def revoke(self, reader: ReaderId, ids: frozenset[str]) -> None:
        """The reader is to give back these, and no others."""
        if self.readers[reader].revoked != ids:
            self._moved = True
            self.readers[reader] = replace(self.readers[reader], revoked=ids)

    def number(self) -> int:
        """A number above all before: one for all that is assigned at once, so that numbers keep
        near to the clock. Splits have their numbers each by itself.
        """
        if self._number is None:
            self._number = self.last_number = tick(self.last_number, self.now_ms)
        return self._number

    def number_above(self, number: int) -> None:
        """The next number is above this one."""
        self.last_number = max(self.last_number, number)

    def result(self) -> Enumerator:
        """The next value. Its revision is another one where an assignment has changed."""
        now = self.now
        for reader, held in self._held.items():
            self.readers[reader] = replace(self.readers[reader], held=held)
        return replace(
            now,
            revision=tick(now.revision, self.now_ms) if self._moved else now.revision,
            last_number=self.last_number,
            readers=self.readers,
            free=self.free,
            finished=self.finished,
        )

    def _opened(self, reader: ReaderId) -> dict[str, OwnedSplit]:
        if reader not in self._held:
            self._held[reader] = dict(self.readers[reader].held)
        return self._held[reader]

    def _opened_free(self) -> dict[str, FreeSplit]:
        if self._free is None:
            self._free = dict(self._before.free)
        return self._free

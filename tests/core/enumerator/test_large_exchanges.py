"""An exchange of as many splits and readers as the limits allow costs no more than they are many,
and works in steps of some hundred, whatever the reader says.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from lockgate.enumerator.answers import wishes
from lockgate.enumerator.arrivals import arriving
from lockgate.enumerator.discovery import with_static_list
from lockgate.enumerator.exchange import careful, exchange, leave
from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner
from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.group.now import Now
from lockgate.steps import ITEMS_OF_A_STEP, Steps, at_once
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import DiscoveredSplits, NumberedSplit, SplitExchange, SplitList
from support.examples import ALL
from support.exchanging import NO_REPORTS
from support.lines import lines_of_each_step

CONFIG = GroupConfig(lease_ms=10_000, update_interval_ms=1_000)
NOW = 1_000_000
NUMBER = NOW - 5_000
BEGAN = NOW - 200
LISTED = NOW - 1_000
ATTACKER: ReaderId = (0, 1)
SPLITS = 4 * ITEMS_OF_A_STEP
LINES = 50 * SPLITS
"""Of Python that one step may run: 20 ms, on a slow machine. To work on all splits at once takes
more.
"""

FEW = 2_500 if ALL else 200

Held = Mapping[str, OwnedSplit]


def splits(count: int, begin: int = 0, offset: int = 7) -> tuple[KafkaPartitionSplit, ...]:
    return tuple(KafkaPartitionSplit("t", number, offset) for number in range(begin, begin + count))


def owned(found: tuple[KafkaPartitionSplit, ...]) -> Held:
    return {each.split_id: OwnedSplit(split=each, number=NUMBER, since=NOW) for each in found}


def claims(found: tuple[KafkaPartitionSplit, ...], number: int = NUMBER) -> tuple[NumberedSplit, ...]:
    return tuple(NumberedSplit(split=each, assignment=number) for each in found)


def owner(held: Held, heard_at: int = NOW - 100, *, arriving: bool = True, **values: Any) -> SplitOwner:
    stood = dict.fromkeys(held, 5) if arriving else {}
    return SplitOwner(heard_at=heard_at, lease_ms=CONFIG.lease_ms, held=held, arriving=stood, **values)


def enumerator(readers: Mapping[ReaderId, SplitOwner], **values: Any) -> Enumerator:
    """A loss was noticed a moment ago, and the splits are listed again. All may be claimed."""
    known = {"listed": True, "discovered_at": LISTED, "heard_at": NOW - 100, "last_number": BEGAN, **values}
    times = {"began_at": BEGAN, "revision": NOW - 100, "assigning_at": 0, "survivors_until": NOW + 9_000}
    return Enumerator(**{**times, **known}, readers=readers)


def of_one(count: int, **values: Any) -> Enumerator:
    """All splits are in the attacker's hands, and still on their way to it."""
    return enumerator({ATTACKER: owner(owned(splits(count)), **values), **empty(count // 10)})


def of_many(count: int, heard_at: int = NOW - 100, **values: Any) -> Enumerator:
    """The splits are in the hands of as many readers as a tenth of them."""
    return enumerator(
        {
            ATTACKER: owner({}),
            **{(each + 1, 1): owner(owned(splits(10, 10 * each)), heard_at) for each in range(count // 10)},
        },
        **values,
    )


def unlisted(count: int) -> Enumerator:
    return of_many(count, listed=False, discovered_at=None)


def doubtful(count: int) -> Enumerator:
    """Return what the attacker held before the loss is known."""
    return replace(of_one(count), known_to=NUMBER, began_at=NOW + 1, last_number=NOW + 1)


def of_epochs(count: int) -> Enumerator:
    """Each split is in the hands of an older epoch of the attacker."""
    before = {(0, -epoch): owner(owned(splits(1, epoch)), arriving=False) for epoch in range(1, count)}
    return enumerator({**before, (0, 0): owner({}, arriving=False), **empty(count // 10)})


def of_nobody(count: int, **values: Any) -> Enumerator:
    found = {each.split_id: FreeSplit(split=each, **values) for each in splits(count, offset=EARLIEST_OFFSET)}
    return enumerator({ATTACKER: owner({}), **empty(count // 10)}, free=found)


def empty(count: int) -> dict[ReaderId, SplitOwner]:
    return {(each + 1, 1): owner({}) for each in range(count)}


@dataclass(frozen=True)
class Kind:
    """An exchange of the attacker for each number of splits."""

    before: Callable[[int], Enumerator]
    said: Callable[[int], Mapping[str, Any]]

    def steps(self, count: int) -> Steps[Enumerator]:
        before, event = self.before(count), SplitExchange(epoch=1, **self.said(count))
        return self._run(before, event)

    def _run(self, before: Enumerator, event: SplitExchange) -> Steps[Enumerator]:
        done = yield from exchange(before, ATTACKER, "s", event, CONFIG, Now(NOW), NO_REPORTS)
        yield
        wishes(done.enumerator, ATTACKER, event, NOW)
        yield
        arriving(before, done.enumerator, ATTACKER)
        return done.enumerator


@dataclass(frozen=True)
class Act:
    """What else changes an enumerator."""

    before: Callable[[int], Enumerator]
    change: Callable[[Enumerator, int], Steps[Enumerator]]

    def steps(self, count: int) -> Steps[Enumerator]:
        return self.change(self.before(count), count)


def listed(count: int, begin: int = 0) -> Mapping[str, Any]:
    found = DiscoveredSplits(splits=splits(count, begin), request=LISTED)
    return {"discovered": found, "discovery_interval_ms": 500}


KINDS: Mapping[str, Kind | Act] = {
    "a snapshot of splits on their way": Kind(of_one, lambda count: {"held": claims(splits(count))}),
    "says nothing of splits on their way": Kind(of_one, lambda count: {}),
    "gives back splits on their way": Kind(of_one, lambda count: {"given_back": claims(splits(count))}),
    "finishes splits on their way": Kind(of_one, lambda count: {"finished": claims(splits(count))}),
    "presents splits of many readers": Kind(of_many, lambda count: {"held": claims(splits(count))}),
    "takes splits of many readers": Kind(of_many, lambda count: {"held": claims(splits(count), NUMBER + 9)}),
    "gives back splits of many readers": Kind(of_many, lambda count: {"given_back": claims(splits(count), NUMBER + 9)}),
    "finishes splits of many readers": Kind(of_many, lambda count: {"finished": claims(splits(count), NUMBER + 9)}),
    "presents splits of its older epochs": Kind(of_epochs, lambda count: {"held": claims(splits(count))}),
    "comes after many epochs": Kind(of_epochs, lambda count: {}),
    "presents free splits": Kind(of_nobody, lambda count: {"held": claims(splits(count), 9)}),
    "invents splits": Kind(unlisted, lambda count: {"held": claims(splits(count, 10**6))}),
    "invents splits that it gives back": Kind(unlisted, lambda count: {"given_back": claims(splits(count, 10**6))}),
    "invents splits with a number to come": Kind(unlisted, lambda count: {"held": claims(splits(count, 10**6), 2**60)}),
    "says nothing of what it held before a loss": Kind(doubtful, lambda count: {}),
    "claims what others held before a loss": Kind(
        lambda count: replace(of_many(count), known_to=NUMBER), lambda count: {"held": claims(splits(count), BEGAN)}
    ),
    "lists new splits": Kind(of_one, lambda count: listed(count, 10**6)),
    "lists all known splits": Kind(of_many, lambda count: listed(count)),
    "lists nothing any more": Kind(of_many, lambda count: listed(0)),
    "comes when all leases have ended": Kind(lambda count: of_many(count, NOW - 10_000), lambda count: {}),
    "comes when splits are free": Kind(of_nobody, lambda count: {}),
    "is to give back most": Kind(lambda count: of_one(count, arriving=False), lambda count: {}),
    "is to give back all": Kind(of_one, lambda count: {"capacity": 0}),
    "gives back what it is to": Kind(
        lambda count: of_one(count, revoked=frozenset(owned(splits(count)))),
        lambda count: {"given_back": claims(splits(count))},
    ),
    "shows a loss": Kind(of_nobody, lambda count: {"seen": NOW + 9}),
    "comes after a silence": Kind(
        lambda count: replace(of_many(count), heard_at=NOW - 50_000), lambda count: {"held": claims(splits(count))}
    ),
    "an operator's list": Act(
        of_one, lambda before, count: with_static_list(before, SplitList(splits=splits(count, 10**6)), NOW)
    ),
    "a reader leaves": Act(of_one, lambda before, count: leave(before, ATTACKER, NOW, NO_REPORTS)),
    "a loss that the coordinator notices": Act(of_nobody, lambda before, count: careful(before, CONFIG, NOW)),
}


def processor_time(steps: Steps[Any]) -> float:
    began = time.thread_time()
    at_once(steps)
    return time.thread_time() - began


@pytest.mark.parametrize("kind", KINDS)
def test_an_exchange_of_thousands_of_splits_works_in_short_steps(kind: str) -> None:
    lines = lines_of_each_step(KINDS[kind].steps(SPLITS))
    assert max(lines) <= LINES


@pytest.mark.parametrize("kind", KINDS)
def test_four_times_as_many_splits_cost_four_times_as_much(kind: str) -> None:
    """A search for each split would cost sixteen times as much."""
    few, many = (min(processor_time(KINDS[kind].steps(count)) for _ in range(2)) for count in (FEW, 4 * FEW))
    assert many < 9 * few + FEW * 8e-6

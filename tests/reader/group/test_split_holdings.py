"""What a reader holds, after what it said and what was answered."""

from dataclasses import replace
from math import inf
from typing import Any

from lockgate.flink.splits import LATEST_OFFSET, KafkaPartitionSplit
from lockgate.wire import split_events as wire
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate.wire.split_events import SplitAnswer, SplitExchange, StoppedSplit
from lockgate_reader.group.holdings import Holdings
from lockgate_reader.place import AssignedSplit, ReaderSplit, ReaderState

EVENT = WatermarkAlignmentEvent(group="g", revision=1, group_watermark=0, max_desired_watermark=0)


def kafka(partition: int, offset: int = 0) -> KafkaPartitionSplit:
    return KafkaPartitionSplit("t", partition, offset)


def held(partition: int, number: int, offset: int = 0) -> ReaderSplit:
    return ReaderSplit(kafka(partition, offset), number)


def added(*pairs: tuple[int, int], offset: int = 0) -> tuple[wire.NumberedSplit, ...]:
    return tuple(wire.NumberedSplit(split=kafka(partition, offset), assignment=number) for partition, number in pairs)


def answer(**more: Any) -> SplitAnswer:
    fixed: dict[str, Any] = {"revision": 5, "lease_ms": 30_000, "update_interval_ms": 1_000, "alignment": EVENT}
    return SplitAnswer(group="g", source="s", subtask=0, epoch=1, **{**fixed, **more})


def says(*splits: ReaderSplit, **state: Any) -> ReaderState:
    return ReaderState(held=splits, **state)


def exchanged(holdings: Holdings, said: ReaderState, **more: Any) -> SplitExchange:
    sent = holdings.exchange(said, 1)
    holdings.answered(sent, answer(**more), said)
    return sent


def holding(*pairs: tuple[int, int]) -> Holdings:
    """Of a reader that was given these splits."""
    holdings = Holdings("me", discovery_ms=60_000)
    exchanged(holdings, says(), add_splits=added(*pairs))
    return holdings


def numbers(holdings: Holdings) -> dict[str, int]:
    assert holdings.assigned is not None
    return {name: each.number for name, each in holdings.assigned.items()}


def test_before_the_first_answer_nothing_is_known() -> None:
    holdings = Holdings("me", discovery_ms=60_000)
    assert holdings.assigned is None
    assert holdings.exchange(says(), 1).held == ()


def test_a_split_that_is_added_again_keeps_where_the_consumer_began() -> None:
    holdings = holding((0, 11))
    exchanged(holdings, says(), add_splits=added((0, 11), offset=99))
    assert holdings.assigned == {"t-0": AssignedSplit(kafka(0), 11)}


def test_what_is_held_is_said_at_its_position_under_its_number() -> None:
    sent = exchanged(holding((0, 11)), says(held(0, 11, offset=42)))
    assert [(each.split.starting_offset, each.assignment) for each in sent.held] == [(42, 11)]


def test_stopped_split_is_dropped_and_its_newer_assignment_is_not() -> None:
    holdings = holding((0, 11), (1, 12))
    exchanged(holdings, says(held(0, 11), held(1, 12)), stop=(StoppedSplit(split="t-0", assignment=11),))
    assert numbers(holdings) == {"t-1": 12}
    exchanged(holdings, says(held(1, 12)), add_splits=added((0, 13)))
    assert numbers(holdings) == {"t-1": 12, "t-0": 13}


def test_a_split_under_a_number_that_is_not_the_reader_s_is_not_said() -> None:
    assert exchanged(holding((0, 13)), says(held(0, 11))).held == ()


def test_a_split_that_is_returned_is_said_until_an_answer_has_come() -> None:
    holdings = holding((0, 11), (1, 12))
    exchanged(holdings, says(held(0, 11), held(1, 12)), give_back=("t-0",))
    assert holdings.give_back == {"t-0"}
    assert not holdings.exchange(says(held(0, 11), held(1, 12)), 1).given_back, "the consumer has it open"
    said = says(held(1, 12), returned=(held(0, 11, offset=50),))
    assert holdings.is_urgent(said)
    assert [each.split.starting_offset for each in holdings.exchange(said, 1).given_back] == [50]
    exchanged(holdings, said)
    assert numbers(holdings) == {"t-1": 12}
    assert not holdings.is_urgent(said)


def test_a_split_that_is_read_to_its_end_is_said_until_an_answer_has_come() -> None:
    holdings = holding((0, 11))
    said = says(finished=(held(0, 11, offset=90),))
    assert [each.assignment for each in exchanged(holdings, said).finished] == [11]
    assert numbers(holdings) == {}
    assert holdings.exchange(said, 1).finished == ()


def test_what_was_not_said_and_not_added_is_gone() -> None:
    holdings = holding((0, 11))
    exchanged(holdings, says())
    assert numbers(holdings) == {}


def test_only_splits_that_were_said_are_held_while_survivors_are_awaited() -> None:
    holdings = holding((0, 11), (1, 12), (2, 12))
    said = says(held(0, 11), held(1, 12))
    exchanged(holdings, said, assigning_in_ms=700, stop=(StoppedSplit(split="t-0", assignment=11),))
    assert numbers(holdings) == {"t-1": 12}
    assert not holdings.settled


def test_a_list_is_sent_once_for_each_request_from_where_the_user_begins() -> None:
    holdings = Holdings("me", discovery_ms=60_000)
    exchanged(holdings, says(), discover=77)
    assert holdings.discover == 1
    exchanged(holdings, says(), discover=77)
    assert holdings.discover == 1, "the consumer has not answered the first request"
    found = says(discovered=(kafka(0, LATEST_OFFSET), kafka(1, 70)))
    assert holdings.is_urgent(found)
    sent = exchanged(holdings, found)
    assert sent.discovered is not None
    assert sent.discovered.request == 77
    assert [each.starting_offset for each in sent.discovered.splits] == [LATEST_OFFSET, 70]
    assert holdings.exchange(found, 1).discovered is None
    exchanged(holdings, found, discover=78)
    assert holdings.discover == 2
    assert holdings.exchange(found, 1).discovered is None, "the old list is no answer to a new request"


def test_events_of_the_program_go_until_they_are_answered_and_come_once() -> None:
    holdings = Holdings("me", discovery_ms=60_000)
    holdings.sends({"a": 1})
    lost = holdings.exchange(says(), 1)
    sent = exchanged(holdings, says(), source_events=(wire.NumberedSourceEvent(number=3, event={"b": 2}),))
    assert [each.id for each in lost.source_events] == [each.id for each in sent.source_events]
    assert holdings.exchange(says(), 1).source_events == ()
    assert holdings.events() == [{"b": 2}]
    exchanged(holdings, says(), source_events=(wire.NumberedSourceEvent(number=3, event={"b": 2}),))
    assert holdings.events() == []


def test_event_sent_after_an_exchange_goes_with_the_next_one() -> None:
    holdings = Holdings("me", discovery_ms=60_000)
    sent = holdings.exchange(says(), 1)
    holdings.sends({"a": 1})
    holdings.answered(sent, answer(), says())
    assert [each.event for each in holdings.exchange(says(), 1).source_events] == [{"a": 1}]


def test_the_farewell_gives_back_all_and_asks_for_nothing() -> None:
    holdings = holding((0, 11), (1, 12))
    last = holdings.farewell(says(held(0, 11, offset=5), returned=(held(1, 12, offset=6),)), 1)
    assert [each.split.starting_offset for each in last.given_back] == [5, 6]
    assert (last.held, last.capacity) == ((), 0)


def test_exchange_has_the_last_revision_so_that_a_lost_history_shows() -> None:
    holdings = holding((0, 11))
    assert exchanged(holdings, says(held(0, 11)), revision=4).seen == 5
    assert holdings.exchange(says(held(0, 11)), 2).seen == 4


def test_split_at_the_latest_record_waits_until_its_offset_is_reported() -> None:
    holdings = Holdings("me", discovery_ms=60_000)
    exchanged(holdings, says(), add_splits=added((0, 11), offset=LATEST_OFFSET))
    assert holdings.unresolved == {("t-0", 11)}
    said = says(held(0, 11, offset=500))
    assert holdings.is_urgent(said)
    exchanged(holdings, said)
    assert not holdings.unresolved
    assert not holdings.is_urgent(said)


def test_a_position_that_went_back_is_said_to_be_restored() -> None:
    holdings, went_back = holding((0, 11)), replace(held(0, 11, offset=30), went_back=True)
    assert [each.restored for each in holdings.exchange(says(held(0, 11, offset=41)), 1).held] == [False]
    assert [each.restored for each in holdings.exchange(says(went_back), 1).held] == [True]
    assert [each.restored for each in holdings.exchange(says(returned=(went_back,)), 1).given_back] == [True]


class Counted(Holdings):
    """Counts how often the splits without an offset are looked for."""

    looked = 0

    @property
    def unresolved(self) -> frozenset[tuple[str, int]]:
        self.looked += 1
        return super().unresolved


def test_splits_without_an_offset_are_looked_for_once_an_exchange() -> None:
    holdings = Counted("me", discovery_ms=60_000)
    some = [(partition, 7) for partition in range(50)]
    exchanged(holdings, says(), add_splits=added(*some))
    said = says(*(held(*each) for each in some))
    exchanged(holdings, said)
    holdings.looked = 0
    assert not holdings.is_urgent(said)
    assert holdings.looked == 1


def test_news_since_the_last_exchange_count_until_an_answer_covers_them() -> None:
    holdings = holding((0, 11))
    holdings.hears(inf)
    sent = holdings.exchange(says(held(0, 11)), 1)
    holdings.hears(7)
    holdings.answered(sent, answer(revision=6), says(held(0, 11)))
    assert holdings.has_news, "they came while the exchange was under way"
    holdings.answered(sent, answer(revision=7), says(held(0, 11)))
    assert not holdings.has_news

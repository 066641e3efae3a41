"""Closed answers ask no log: they name what they lack, until it was asked for and confirmed."""

import pytest

from lockgate.plan.answers import LogAnswers, Unasked
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Head
from support.logs_in_memory import LogsInMemory

BOUNDS = Bounds(max_drift=1_000, idle_timeout=60_000)
REPLAY = 10**12


def asked(logs: LogsInMemory) -> LogAnswers[str]:
    return LogAnswers(logs.backlogs(REPLAY), logs, BOUNDS, {0: 4})


def test_closed_answers_suffice_for_the_draft_that_the_search_was_made_for() -> None:
    logs = LogsInMemory.from_start(a=[0, 10, 20, 30], b=[5, 15, 25, 35])
    plan = Draft(asked(logs)).plan()
    look_ups = len(logs.asked)
    closed = asked(logs).closed()
    assert Draft(closed).plan().splits == plan.splits
    assert len(logs.asked) == 2 * look_ups


def test_closed_answers_name_the_cut_that_they_lack_until_it_is_added() -> None:
    logs = LogsInMemory.from_start(a=[0, 10, 20, 30], b=[5, 15, 25, 35])
    draft = Draft(asked(logs).closed())
    with pytest.raises(Unasked) as lacking:
        draft.plan(7)
    draft.answers.add(lacking.value, logs, lambda event_time, stops: True)
    assert {split: made.end for split, made in draft.plan(7).splits.items()} == {"a": 1, "b": 1}
    with pytest.raises(Unasked):
        draft.plan(8)  # the same records come next, and have to lie above it too


def test_a_cut_that_is_not_confirmed_is_asked_for_again() -> None:
    logs = LogsInMemory.from_start(a=[0, 10, 20, 30], b=[5, 15, 25, 35])
    draft, seen = Draft(asked(logs).closed()), list[int]()

    def confirm(event_time: int, stops: object) -> bool:
        seen.append(event_time)
        return len(seen) > 1

    draft.answers.add(Unasked(7), logs, confirm)
    assert (seen, logs.asked.count(7)) == ([7, 7], 2)


def test_closed_answers_name_the_highest_event_times_that_they_lack() -> None:
    logs = LogsInMemory.from_start(a=[0, 10], b=[])
    draft = Draft(asked(logs).closed())
    with pytest.raises(Unasked) as lacking:
        draft.reported_watermarks()
    draft.answers.add(lacking.value, logs, lambda event_time, stops: True)
    assert draft.reported_watermarks()["a"] == -1
    assert draft.heads == {"a": Head(0, 0)}

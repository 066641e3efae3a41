"""What the journal and the log say of splits."""

from core.enumerator.fleet import CONFIG, Fleet
from core.enumerator.test_exchanges import settled
from lockgate.enumerator.exchange import careful
from lockgate.enumerator.model import Enumerator
from lockgate.steps import at_once
from lockgate_coordinator.telemetry.split_changes import split_changes


def said(before: Enumerator | None, after: Enumerator) -> list[tuple[str, int | None, object]]:
    return [
        (each.kind.value, each.subtask, each.details.get("partitions", each.details.get("new")))
        for each in split_changes("g", "s", before, after)
    ]


def test_a_list_and_the_assignment_of_its_splits_are_changes() -> None:
    fleet = settled(partitions=2, readers=1)

    assert said(None, fleet.enumerator) == [
        ("partitions_listed", 0, ["orders-0", "orders-1"]),
        ("partitions_assigned", 0, ["orders-0", "orders-1"]),
    ]


def test_positions_alone_are_no_change() -> None:
    fleet = settled(partitions=1, readers=1)
    before = fleet.enumerator
    fleet.read(fleet.processes[0], 9)
    fleet.exchange(fleet.processes[0])

    assert said(before, fleet.enumerator) == []


def test_a_handover_is_two_changes_and_a_lost_reader_another() -> None:
    fleet: Fleet = settled(partitions=2, readers=1)
    fleet.start(1)
    fleet.exchange(fleet.processes[1])
    fleet.exchange(fleet.processes[0])
    before = fleet.enumerator
    fleet.exchange(fleet.processes[0])
    assert said(before, fleet.enumerator) == [
        ("partitions_freed", 0, ["orders-1"]),
        ("partitions_assigned", 1, ["orders-1"]),
    ]
    before = fleet.enumerator
    for _ in range(5):
        fleet.now += 200
        fleet.exchange(fleet.processes[0])
    (_, freed), *_ = [
        (each.kind, each.reason) for each in split_changes("g", "s", before, fleet.enumerator) if each.subtask
    ]
    assert freed == "it has left, or its lease has expired"


def test_a_lost_history_is_a_warning_once() -> None:
    fleet = settled()
    lost = at_once(careful(fleet.enumerator, CONFIG, fleet.now))

    assert [kind for kind, _, _ in said(fleet.enumerator, lost)][:1] == ["partitions_history_lost"]
    assert said(lost, lost) == []

"""A split on its way from one reader to another holds the group where it stood."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.enumerator.arrivals_fleet import CONFIG, MembersOfOneGroup
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import Blocker, GroupConfig, OnLostReader, ReaderRegistrationEvent
from support.examples import examples
from support.turns import evaluate, register, renew

EXCLUDE = replace(CONFIG, on_lost_reader=OnLostReader.EXCLUDE)


def one_with_all(config: GroupConfig = CONFIG) -> MembersOfOneGroup:
    """One member, which stands at 1,000 and more in all splits but the last one."""
    fleet = MembersOfOneGroup(config=config)
    member = fleet.start(0)
    fleet.all_exchange(5)
    for partition, at in enumerate((1_000, 1_100, 1_200, 7)):
        fleet.read(member, partition, at)
    fleet.all_exchange()
    assert fleet.watermark() == 7
    return fleet


def given_on(fleet: MembersOfOneGroup) -> None:
    """A second member joins, and gets splits of the first one. It has read of none yet."""
    fleet.start(1)
    fleet.all_exchange(4)
    assert "orders-3" in fleet.members[1].held
    assert "orders-3" not in fleet.members[0].held


def test_the_group_waits_for_a_split_on_its_way_and_names_it() -> None:
    fleet = one_with_all()
    given_on(fleet)
    _, event = evaluate(fleet.group, fleet.now)

    assert event.group_watermark == 7
    assert event.max_desired_watermark == 7 + CONFIG.max_drift_ms
    assert event.blocked_by == (Blocker(source="s", subtask=1, watermark=7, split="orders-3"),)


def test_split_has_arrived_with_the_first_watermark_of_its_new_reader() -> None:
    fleet = one_with_all()
    given_on(fleet)
    for partition in range(4):
        fleet.read(fleet.members[1], partition, 900)
    fleet.all_exchange()

    assert fleet.watermark() == 900
    assert fleet.group.readers["s", 1].arriving is None


def test_a_split_that_was_idle_holds_nobody_on_its_way() -> None:
    fleet = one_with_all()
    fleet.members[0].stands["orders-3"] = MIN
    fleet.all_exchange()
    given_on(fleet)
    assert fleet.watermark() == 1_000


def test_split_that_its_new_reader_never_opened_keeps_its_watermark() -> None:
    fleet = one_with_all(EXCLUDE)
    given_on(fleet)
    fleet.leave(fleet.members[1])
    assert fleet.watermark() == 7
    fleet.read(fleet.members[0], 0, 5_000)
    fleet.all_exchange(2)
    assert fleet.watermark() == 7, "it is on its way back"
    for partition in range(4):
        fleet.read(fleet.members[0], partition, 2_000)
    fleet.all_exchange()
    assert fleet.watermark() == 2_000


def test_a_split_of_a_reader_that_leaves_holds_the_group_at_once() -> None:
    fleet = one_with_all(EXCLUDE)
    fleet.start(1)
    fleet.all_exchange(2)
    fleet.leave(fleet.members[0])
    assert fleet.watermark() == 7


def test_a_process_that_begins_anew_counts_with_what_its_older_epoch_holds() -> None:
    fleet = one_with_all()
    fleet.start(1)
    fleet.all_exchange(3)
    stands = dict(fleet.members[1].held)
    for id in stands:
        fleet.read(fleet.members[1], int(id[-1]), 50)
    fleet.all_exchange()
    fleet.start(1)
    for _ in range(CONFIG.lease_ms // 100 + 5):
        fleet.all_exchange()
        fleet.read(fleet.members[0], 0, fleet.now)
        assert fleet.watermark() == 50
    assert fleet.members[1].held.keys() == stands.keys()


def test_a_split_that_no_list_names_any_more_is_waited_for_by_nobody() -> None:
    fleet = one_with_all()
    given_on(fleet)
    fleet.partitions = 3
    fleet.all_exchange(7)  # one is asked after half a second
    assert fleet.enumerator.missing == {"orders-3"}
    assert fleet.watermark() > 7


def test_without_any_reader_nothing_is_on_its_way() -> None:
    fleet = one_with_all(EXCLUDE)
    fleet.leave(fleet.members[0])
    assert fleet.watermark() == MAX
    fleet.start(5)
    fleet.all_exchange(3)
    assert fleet.watermark() == 7, "it holds for whoever comes"


def test_registration_alone_does_not_make_a_lost_reader_wait_for_its_split() -> None:
    fleet = one_with_all(EXCLUDE)
    given_on(fleet)
    group, now = fleet.group, fleet.now
    for now in range(fleet.now, fleet.now + 2 * CONFIG.lease_ms, 100):
        group, _ = evaluate(renew(group, "s", 0, fleet.members[0].epoch, now), now)
    assert group.readers["s", 1].lost
    again = register(group, "s", ReaderRegistrationEvent(subtask=1, takeover=True), now)
    assert evaluate(again, now)[0].group_watermark == 1_000


def test_a_reader_that_has_finished_waits_for_nothing() -> None:
    fleet = one_with_all()
    given_on(fleet)
    reader = fleet.group.readers["s", 1]
    assert reader.reported is not None
    done = reader._replace(reported=replace(reader.reported, finished=True))
    group = replace(fleet.group, readers=fleet.group.readers.updated({("s", 1): done}))
    assert evaluate(group, fleet.now)[0].group_watermark == 1_000


steps = st.lists(
    st.tuples(
        st.sampled_from(["exchange"] * 8 + ["unanswered"] * 2 + ["read"] * 8 + ["all"] * 4 + ["time"] * 3)
        | st.sampled_from(["start", "start", "leave", "kill", "kill"]),
        st.integers(0, 1_000),
    ),
    min_size=10,
    max_size=70,
)


@examples(120)
@given(steps)
def test_the_group_is_never_ahead_of_a_split_that_some_reader_has_reported(acts: list[tuple[str, int]]) -> None:
    """Whatever joins, leaves, dies or begins anew: as long as there are readers."""
    fleet = MembersOfOneGroup(partitions=5)
    for subtask in range(2):
        fleet.start(subtask)
    fleet.all_exchange(4)
    for act, number in acts:
        step(fleet, act, number)
        if fleet.enumerator.readers and fleet.reported and not fleet.has_orphans():
            assert fleet.watermark() <= min(fleet.reported.values()), (act, number)
    fleet.start(0)
    fleet.all_exchange(30)
    for partition in range(5):
        fleet.read(fleet.holder(f"orders-{partition}"), partition, 1_000_000)
    fleet.all_exchange(3)
    assert fleet.watermark() >= 1_000_000, "nobody waits for ever"


def step(fleet: MembersOfOneGroup, act: str, number: int) -> None:
    member = fleet.members[number % len(fleet.members)] if fleet.members else None
    if act == "time":
        fleet.now += (1, 40, 100, 250)[number % 4]
    elif act == "all":
        fleet.all_exchange(1 + number % 12)
    elif act == "start" and len(fleet.members) < 4:
        fleet.start(number % 4)
    elif member is None:
        return
    elif act == "read":
        fleet.read(member, number % 5, number * 7)
    elif act in ("exchange", "unanswered"):
        fleet.exchange(member, answered=act == "exchange")
    elif act == "leave" and len(fleet.members) > 1:
        fleet.exchange(member)
        fleet.leave(member)
    elif act == "kill":
        fleet.members.remove(member)

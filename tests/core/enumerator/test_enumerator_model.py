"""Whole fleets of readers do anything in any order, over a network and a store that lose things."""

from hypothesis import given
from hypothesis import strategies as st

from core.enumerator.fleet import Fleet, Process
from support.examples import examples

# What happens, and how often beside the others.
OFTEN = {
    "exchange": 20,
    "read": 15,
    "time": 12,
    "all": 6,
    "others": 6,
    "start": 6,
    "kill": 2,
    "leave": 1,
    "again": 2,
    "request lost": 3,
    "answer lost": 3,
    "late": 3,
    "splits": 2,
    "back": 1,
    "unnoticed": 1,
    "empty": 2,
}
TIMES = (1, 40, 100, 100, 250, 300, 890, 2_000)

steps = st.lists(
    st.tuples(st.sampled_from([act for act, often in OFTEN.items() for _ in range(often)]), st.integers(0, 1_000)),
    min_size=10,
    max_size=80,
)


def one(fleet: Fleet, number: int) -> Process | None:
    return fleet.processes[number % len(fleet.processes)] if fleet.processes else None


def step(fleet: Fleet, act: str, number: int) -> None:
    process = one(fleet, number)
    if act == "time":
        fleet.now += TIMES[number % len(TIMES)]
    elif act == "all":
        for each in list(fleet.processes):
            fleet.exchange(each)
    elif act == "others":  # one is cut off, and reads on
        for _ in range(1 + number % 4):
            fleet.now += 250
            for each in fleet.processes[:]:
                if each is process:
                    fleet.read(each, 10)
                else:
                    fleet.exchange(each)
    elif act == "start" and len(fleet.processes) < 6:
        fleet.start(number % 4, capacity=1 + number // 4 % 3)
    elif act == "late" and fleet.late:
        fleet.deliver_late()
    elif act == "splits":
        fleet.partitions = min(20, fleet.partitions + 1 + number % 3)
    elif act == "back" and fleet.past:
        fleet.lose_last_commits()
    elif act == "unnoticed" and fleet.past:
        fleet.lose_last_commits_unnoticed(number)
    elif act == "empty":
        fleet.lose_everything(number)
    elif process is not None:
        of_one(fleet, act, process, number)


def of_one(fleet: Fleet, act: str, process: Process, number: int) -> None:
    if act in ("exchange", "request lost", "answer lost"):
        fleet.exchange(process, request=act != "request lost", answer=act != "answer lost")
    elif act == "read":
        fleet.read(process, 1 + number % 50)
    elif act == "kill":
        fleet.processes.remove(process)
    elif act == "leave" and not process.fenced:
        fleet.leave(process)
    elif act == "again" and not process.fenced:
        fleet.register_again(process)


def peace(fleet: Fleet) -> None:
    """For some time everybody exchanges, and nothing is lost."""
    for _ in range(30):
        for process in list(fleet.processes):
            fleet.exchange(process)
            fleet.read(process, 5)
            fleet.check()
        fleet.now += 100


@examples(150)
@given(steps)
def test_no_split_is_in_two_hands_and_each_one_has_a_reader_in_the_end(acts: list[tuple[str, int]]) -> None:
    run(acts)


def run(acts: list[tuple[str, int]]) -> None:
    fleet = Fleet()
    for subtask in range(3):
        fleet.start(subtask)
    peace(fleet)
    for act, number in acts:
        step(fleet, act, number)
        fleet.check()
    fleet.start(0)
    peace(fleet)

    held = {id: process for process in fleet.processes for id in process.held}
    weight = sum(process.capacity for process in fleet.processes)
    assert sorted(held) == sorted(each.split_id for each in fleet.splits())
    for process in fleet.processes:
        assert abs(len(process.held) - fleet.partitions * process.capacity / weight) < 1

"""What the merged histograms of a batch tell, against the rows that its tasks have read."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from lockgate_spark.jvm.counted import CountedPlace, code_of

Task = tuple[str, int, int, int]
"""A split, and of its rows those that are lost, those that are only late, and the others."""

ROWS = st.integers(0, 5)
TASKS = st.lists(st.tuples(st.sampled_from(["a-0", "a-1", "b-0"]), ROWS, ROWS, ROWS), max_size=8)


def observed(runs: list[Task]) -> dict[str, object]:
    """As Spark merges the histograms of tasks: no bin is empty, and none is added to another."""
    bins = [
        {"x": float(code_of(split) + bit), "y": float(rows)}
        for split, lost, held, _ in runs
        for bit, rows in ((1, lost), (0, held))
        if rows
    ]
    tasks = [{"x": 0.0, "y": float(sum(each[1:]))} for each in runs if sum(each[1:])]
    return {"late": bins or None, "tasks": tasks or None, "early": 0, "untimed": 0, "oldest": None}


def place(tasks: list[Task], runs: list[Task]) -> CountedPlace:
    ends: Counter[str] = Counter()
    for split, *rows in tasks:
        ends[split] += sum(rows) + 1  # a marker of a transaction
    return CountedPlace.of(observed(runs), len(tasks), {}, ends)


def truth(tasks: list[Task], *columns: int) -> dict[str, int]:
    rows: Counter[str] = Counter()
    for task in tasks:
        rows[task[0]] += sum(task[column] for column in columns)
    return dict(+rows)


@given(tasks=TASKS)
def test_tasks_that_run_once_give_the_rows_of_each_split(tasks: list[Task]) -> None:
    found = place(tasks, tasks)
    assert (found.late, found.lost) == (truth(tasks, 1, 2), truth(tasks, 1))
    assert found.exact
    assert found.rows == sum(sum(task[1:]) for task in tasks)


@given(tasks=TASKS, data=st.data())
def test_what_tasks_that_ran_again_count_is_exact_or_an_upper_bound(tasks: list[Task], data: st.DataObject) -> None:
    full = [task for task in tasks if sum(task[1:])]
    again = data.draw(st.lists(st.sampled_from(full), max_size=9)) if full else []
    found = place(full, full + again)
    late, lost = truth(tasks, 1, 2), truth(tasks, 1)
    if found.exact:
        assert (found.late, found.lost) == (late, lost)
    else:
        assert all(found.late.get(split, 0) >= rows for split, rows in late.items())
    assert found.exact or again
    assert found.exact or len({task[0] for task in full}) < len(full), "one task a split is exact in any case"

"""`lockgate describe` shows who reads which split, and where it stands."""

from rich.console import Console

from lockgate_cli.tables import _assignments
from lockgate_cli.words import assigned_splits

ITEM = {"split": "orders-0", "subtask": 1, "state": "revoking", "position": 77, "since": 1_000}
FREE = {"split": "orders-1", "subtask": None, "state": "unassigned", "position": "earliest", "since": None}


def test_each_split_has_its_reader_state_position_and_age() -> None:
    console = Console(width=100, record=True)
    console.print(_assignments({"source": "enricher", "now": 6_000, "items": [ITEM, FREE]}))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]

    assert "orders-0 enricher/1 revoking 77 5 s ago" in lines
    assert "orders-1 – unassigned earliest –" in lines


def test_a_source_counts_its_assigned_splits_and_the_others() -> None:
    counts = {"assigned": 1_200, "revoking": 0, "unassigned": 3, "missing": 1, "finished": 0}

    assert assigned_splits("s", counts) == "s: 1,200 of 1,204 partitions assigned, 3 unassigned, 1 missing."
    assert assigned_splits("s", {**counts, "unassigned": 0, "missing": 0}) == "s: 1,200 of 1,200 partitions assigned."

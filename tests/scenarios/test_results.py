"""Verdicts are kept as lines, and rendered as a table."""

from dataclasses import replace
from pathlib import Path

from seeded.judging import Behind, Verdict
from seeded.results import append, line, read, table
from seeded.scenario import Kind

FINE = Verdict(8, Kind.REPLAY.value, "counts", 300, 40, 0, 0, 0, 0, took_s=4.2, code="abc", notes=("3 batches",))
SLOW = Verdict(
    9,
    Kind.ON_TIME.value,
    "live",
    1_000,
    0,
    7,
    7,
    0,
    0,
    Behind(0.5, 1),
    Behind(8.5, 9),
    0.0,
    ("8.0 s too late",),
    took_s=14,
    code="abc",
)


def test_verdicts_come_back_as_they_were_written_and_the_last_one_of_a_seed_counts(tmp_path: Path) -> None:
    out = tmp_path / "below" / "results.jsonl"
    for verdict in (FINE, replace(SLOW, lost=9), SLOW):
        append(verdict, out)
    assert read(out) == [FINE, SLOW]
    append(replace(SLOW, code="abd"), out)
    assert len(read(out)) == 3


def test_a_scenario_that_failed_says_which_command_repeats_it() -> None:
    assert "BROKEN" not in line(FINE)
    assert "BROKEN: 8.0 s too late\n  again: make scenarios ARGS='--seeds 9'" in line(SLOW)


def test_the_table_has_a_row_a_class_one_for_all_and_the_failed_scenarios() -> None:
    found = table([FINE, SLOW]).splitlines()
    assert found[2] == "| replay | 1 | 1 | 300 | 40 | 0 | 0 | – | – |"
    assert (
        found[3] == "| live, on time, one silent | 1 | 0 | 1,000 | 0 | 7 | 7 | 8.0 (at most 8.0) | 8.0 (at most 8.0) |"
    )
    assert found[4].startswith("| all | 2 | 1 | 1,300 | 40 | 7 | 7 |")
    assert found[6] == "- seed 9, live, on time, one silent (live): 8.0 s too late"

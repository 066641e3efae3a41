"""`lockgate verify`: a recorded history holds, and each history made wrong on purpose fails by the
rule that it breaks.
"""

import ast
import copy
import json
import random
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lockgate_cli import verify as checker
from lockgate_cli.__main__ import cli
from lockgate_cli.verify.lines import MAX, Entry, Interval, Verdict
from lockgate_cli.verify.model import Model
from lockgate_cli.verify.rows import judge_rows
from lockgate_cli.verify.rules import RULES, verify
from support.fire.drawing import Act, Fault, Schedule
from support.fire.world import PARTITIONS, recorded

SCHEDULE = Schedule(
    seed=1,
    acts=(
        Act(0.6, Fault.LEAVE, 1, 0.0),
        Act(1.5, Fault.TAKEN, 0, 3.0),
        Act(2.0, Fault.KILL_QUERY, 0, 0.0),
        Act(2.5, Fault.JOIN, 0, 0.0),
    ),
    catch_up="strict",
    on_lost_reader="exclude",
)

History = list[Entry]
PICKS = range(2)
ROWS = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    recorded(SCHEDULE, folder, ROWS)
    return folder


@pytest.fixture(scope="module")
def good(folder: Path) -> History:
    files = sorted(folder.glob("*.jsonl"))
    return [
        Entry(file.name, number, json.loads(line))
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
    ]


def test_checker_imports_nothing_but_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names}
    for file in Path(checker.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] in allowed or name.startswith("lockgate_cli.verify."), f"{file}: {name}"


def test_recorded_history_holds(good: History) -> None:
    verdict = verify(good)
    assert verdict.violations == []
    assert verdict.notices == []
    assert verdict.counts["rows"] >= 2 * PARTITIONS * ROWS
    assert verdict.counts["owners"] > PARTITIONS


def dropped_report(history: History, pick: random.Random) -> None:
    """A turn forgets a report that a client has an answer to."""
    answered = {tuple(taken) for each in history for taken in each.body.get("taken", ())}
    turns = [(each, c) for each in history if each.body["k"] == "turn" for c in each.body["commands"]]
    reports = [
        (each, command)
        for each, command in turns
        if command["c"] == "report"
        and (command["source"], command["subtask"], command["epoch"], command["watermark"]) in answered
    ]
    turn, lost = pick.choice(reports)
    turn.body["commands"].remove(lost)


def position_gone_back(history: History, pick: random.Random) -> None:
    """A new owner begins before an answered position."""
    first = _first_rows(history)
    later = [each for (split, _), each in first.items() if each.body["number"] > min(n for s, n in first if s == split)]
    pick.choice([each for each in later if each.body["from"] > 0]).body["from"] -= 1


def raised_limit(history: History, pick: random.Random) -> None:
    pick.choice(_limited(history)).body["read_limit"] += 1


def raised_watermark(history: History, pick: random.Random) -> None:
    pick.choice(_limited(history)).body["watermark"] += 1


def raised_notice(history: History, pick: random.Random) -> None:
    heard = [each for each in history if each.body["k"] in ("reported", "exchanged") and each.body["read_limit"] < MAX]
    pick.choice(heard).body["read_limit"] += 1


def row_above(history: History, pick: random.Random) -> None:
    rows = pick.choice([each for each in history if each.body["k"] == "rows"])
    rows.body["latest"] = rows.body["read_limit"] + 1


def plan_above(history: History, pick: random.Random) -> None:
    plan = pick.choice([each for each in history if each.body["k"] == "plan"])
    plan.body["read_limit"] = plan.body["target"] = MAX - 1


def old_epoch(history: History, pick: random.Random) -> None:
    """A fenced reader's report is accepted."""
    commands = [c for each in history if each.body["k"] == "turn" for c in each.body["commands"] if c["c"] == "report"]
    pick.choice(commands)["epoch"] -= 1


def epoch_again(history: History, pick: random.Random) -> None:
    """A number that was taken over gets no newer epoch."""
    opened = [c for each in history if each.body["k"] == "turn" for c in each.body["commands"] if c["c"] == "register"]
    known = set[tuple[str, int]]()
    again = []
    for each in opened:
        if (each["source"], each["subtask"]) in known:
            again.append(each)
        known.add((each["source"], each["subtask"]))
    pick.choice(again)["epoch"] = 1


def old_owner(history: History, pick: random.Random) -> None:
    """An owner reads on after the next one has begun."""
    first = _first_rows(history)
    stopped = {each.file for each in history if each.body["k"] == "stalled"}
    handed = [
        (split, before, min(n for s, n in first if s == split and n > before))
        for split, before in first
        if first[split, before].file not in stopped and any(s == split and n > before for s, n in first)
    ]
    split, before, number = pick.choice(handed)
    rows = [each for each in history if each.body["k"] == "rows" and each.body["split"] == split]
    last = max((each for each in rows if each.body["number"] == before), key=lambda each: each.body["t"])
    last.body["t"] = first[split, number].body["t"] + 300


def late_notice(history: History, pick: random.Random) -> None:
    """A client hears nothing for three seconds."""
    files = [each.file for each in history if each.body["k"] == "exchanged"]
    file = max(sorted(set(files)), key=files.count)
    heard = [each for each in history if each.file == file and "revision" in each.body]
    until = heard[-1].body["t"] - 3_500
    new = [b for a, b in pairwise(heard) if a.body["read_limit"] != b.body["read_limit"]]
    began = pick.choice([each.body["t"] for each in new if each.body["t"] < until])
    for each in history:
        if each.file == file and began <= each.body["t"] < began + 3_000:
            each.body["t"] = began + 3_000


def dropped_rows(history: History, pick: random.Random) -> None:
    rows = [each for each in history if each.body["k"] == "rows"]
    history.remove(pick.choice(rows))


def rows_again(history: History, pick: random.Random) -> None:
    rows = pick.choice([each for each in history if each.body["k"] == "rows" and each.body["from"] > 0])
    same = [
        each
        for each in history
        if each.body["k"] == "rows" and each.body["number"] == rows.body["number"]
        and each.body["split"] == rows.body["split"] and each.body["from"] < rows.body["from"]
    ]  # fmt: skip
    (rows if same else max(history, key=_last_of_owner)).body["from"] -= 1


def plan_overlaps(history: History, pick: random.Random) -> None:
    _shift_plan(history, pick, -1)


def plan_leaves_out(history: History, pick: random.Random) -> None:
    _shift_plan(history, pick, 1)


def dropped_plan(history: History, pick: random.Random) -> None:
    plans = sorted((each for each in history if each.body["k"] == "plan"), key=lambda each: each.body["t"])
    history.remove(pick.choice(plans[1:-1]))


def undone_turns(history: History, pick: random.Random) -> None:
    """The store goes back by two turns, and nobody notices."""
    turns = sorted((each for each in history if each.body["k"] == "turn"), key=lambda each: each.body["version"])
    at = pick.randrange(10, len(turns) - 10)
    turns[at].body["was"] = turns[at - 3].body["version"]


WRONG: dict[Callable[[History, random.Random], None], str] = {
    dropped_report: "acknowledged",
    position_gone_back: "acknowledged",
    undone_turns: "acknowledged",
    raised_limit: "read limit",
    raised_watermark: "read limit",
    raised_notice: "read limit",
    row_above: "read limit",
    plan_above: "read limit",
    old_epoch: "fenced",
    epoch_again: "fenced",
    old_owner: "fenced",
    late_notice: "heard",
    dropped_rows: "rows",
    rows_again: "rows",
    plan_overlaps: "rows",
    plan_leaves_out: "rows",
    dropped_plan: "rows",
}


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_history_made_wrong_fails_by_its_rule(
    good: History, wrong: Callable[[History, random.Random], None], pick: int
) -> None:
    history = copy.deepcopy(good)
    wrong(history, random.Random(pick))
    rules = {each.rule for each in verify(history).violations}
    assert WRONG[wrong] in rules, rules
    assert rules <= set(RULES)


def position_acknowledged(first_t: int, losses: list[Interval]) -> set[str]:
    """Judge two owners of a partition: the first one reads to 10 and hears at 900 that this is
    acknowledged; the second one begins at 6, at `first_t`.
    """
    verdict = Verdict()
    model = Model("g", verdict)
    model.losses += losses
    lines = [
        {"k": "rows", "t": 100, "source": "s", "split": "p", "number": 1, "from": 0, "to": 10},
        {"k": "exchanged", "t": 900, "source": "s", "held": [("p", 1, 10, False)], "given_back": [], "stop": []},
        {"k": "rows", "t": first_t, "source": "s", "split": "p", "number": 2, "from": 6, "to": 10},
    ]
    entries = [Entry("f", n, {"group": "g", **body}) for n, body in enumerate(lines)]
    judge_rows(sorted(entries, key=lambda each: each.body["t"]), model, {}, gaps=False)
    return {each.rule for each in verdict.violations}


@pytest.mark.parametrize("first_t", [700, 1_100])
def test_acknowledged_position_holds_until_the_store_loses_it(first_t: int) -> None:
    assert position_acknowledged(first_t, []) == {"acknowledged"}
    assert position_acknowledged(first_t, [Interval(500, 600)]) == {"acknowledged"}
    assert position_acknowledged(first_t, [Interval(800, 800), Interval(1_000, 1_000)]) == set()


def test_each_rule_has_a_history_made_wrong() -> None:
    assert set(WRONG.values()) == set(RULES)


def test_command_prints_a_table_and_exits_by_the_verdict(folder: Path, good: History, tmp_path: Path) -> None:
    held = CliRunner().invoke(cli, ["verify", str(folder)])
    assert held.exit_code == 0, held.output
    assert "acknowledged" in held.output
    wrong = copy.deepcopy(good)
    raised_limit(wrong, random.Random(0))
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(json.dumps(each.body) + "\n" for each in wrong))
    failed = CliRunner().invoke(cli, ["verify", str(broken), "--output", "json"])
    assert failed.exit_code == 1, failed.output
    answer = json.loads(failed.output)
    assert answer["holds"] is False
    assert "expected" in answer["violations"][0]["text"]
    assert answer["violations"][0]["file"].endswith("broken.jsonl")


def test_history_that_does_not_exist_exits_with_two(tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["verify", str(tmp_path / "none.jsonl")]).exit_code == 2


@pytest.mark.parametrize("text", ["", "{}\n{}\n", 'hello\n{"k":"turn"}\n'])
def test_unreadable_history_exits_with_two(tmp_path: Path, text: str) -> None:
    (tmp_path / "some.jsonl").write_text(text)
    assert CliRunner().invoke(cli, ["verify", str(tmp_path)]).exit_code == 2


def test_line_that_was_not_written_whole_is_left_out(folder: Path, tmp_path: Path) -> None:
    for file in folder.glob("*.jsonl"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    torn = next(tmp_path.glob("client-orders-*.jsonl"))
    torn.write_text(torn.read_text() + '{"k":"rows","t":17')
    assert CliRunner().invoke(cli, ["verify", str(tmp_path)]).exit_code == 0


def _limited(history: History) -> History:
    """The turns whose read limit is exactly the model's: strict, and some reader is behind."""
    turns = sorted((each for each in history if each.body["k"] == "turn"), key=lambda each: each.body["version"])
    return [each for each in turns if each.body["watermark"] > -(10**15) and each.body["read_limit"] < MAX]


def _first_rows(history: History) -> dict[tuple[str, int], Entry]:
    rows = sorted((each for each in history if each.body["k"] == "rows"), key=lambda each: each.body["t"])
    first: dict[tuple[str, int], Entry] = {}
    for each in rows:
        first.setdefault((each.body["split"], each.body["number"]), each)
    return first


def _last_of_owner(each: Entry) -> tuple[bool, Any]:
    return each.body["k"] == "rows" and each.body["from"] > 0, each.body["t"]


def _shift_plan(history: History, pick: random.Random, by: int) -> None:
    plans = sorted((each for each in history if each.body["k"] == "plan"), key=lambda each: each.body["t"])
    plan = pick.choice(plans[2:])
    split = pick.choice([name for name, (first, to) in plan.body["splits"].items() if 0 < first < to])
    plan.body["splits"][split][0] += by

"""The command `verify`, which reads a history and checks it with `lockgate_cli.verify`."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from lockgate_cli.client import Fault
from lockgate_cli.output import Output, OutputOption, Terminal, print_answer, progress, say
from lockgate_cli.verify.lines import Entry, Verdict
from lockgate_cli.verify.rules import RULES, verify

BROKEN, UNREADABLE = 1, 2
SHOWN = 20
LINES_OF_A_STEP = 1_000
KINDS = frozenset(
    {"turn", "deleted", "registered", "reported", "exchanged", "heard", "unreachable", "stalled", "gap", "rows", "plan"}
    | {"expect"}
)


def verify_command(
    history: Annotated[list[Path], typer.Argument(metavar="HISTORY", help="A folder of *.jsonl files, or a file.")],
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Offsets may be missing: a topic is compacted, or has transactions.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a recorded history: no acknowledged report was lost, no read limit was too high, no
    fenced reader had any effect, every live reader received each new read limit in time, and every
    row was read once. Rows after the last acknowledged position of a killed reader may be read
    again. Exit 0 if all rules hold, 1 if one is violated, 2 if the history cannot be read.
    """
    files = [file for path in history for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    try:
        if missing := [str(file) for file in files if not file.exists()]:
            raise Fault(f"{missing[0]} does not exist")
        with progress("reading", shown=output is Output.TABLE) as show:
            entries = list(read(files, show))
        if not entries:
            raise Fault(f"there is no history in {', '.join(map(str, history))}: set LOCKGATE_HISTORY to record one")
        verdict = verify(entries, gaps=gaps)
    except Fault as error:
        say(f"lockgate: {error}", err=True)
        raise typer.Exit(UNREADABLE) from error
    except (KeyError, TypeError, ValueError) as error:
        say(f"lockgate: a line of the history lacks a field or has another type: {error!r}", err=True)
        raise typer.Exit(UNREADABLE) from error
    if output is Output.TABLE:
        _print(verdict)
    else:
        answer = {"holds": not verdict.violations, "violations": [asdict(each) for each in verdict.violations]}
        print_answer({**answer, "notices": verdict.notices, "counts": dict(verdict.counts)}, output)
    if verdict.violations:
        raise typer.Exit(BROKEN)


def read(files: list[Path], show: Callable[[float], None] = lambda share: None) -> Iterator[Entry]:
    """Yield the lines of the files. `show` is called with the share read so far, from 0 to 1.

    An incomplete line at the end of a file or before a gap is skipped. Raises `Fault` for any other
    invalid line.
    """
    total, done = sum(file.stat().st_size for file in files) or 1, 0
    for file in files:
        lines = file.read_bytes().split(b"\n")
        for number, line in enumerate(lines, 1):
            done += len(line) + 1
            if number % LINES_OF_A_STEP == 0:
                show(done / total)
            if not line:
                continue
            body = _object(line)
            if body is not None:
                yield Entry(str(file), number, body)
            elif number < len(lines) and lines[number] and b'"k":"gap"' not in lines[number]:
                raise Fault(f"{file}:{number}: not a line of a history")


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(line)
    except ValueError:
        return None
    return body if isinstance(body, dict) and body.get("k") in KINDS else None


def _print(verdict: Verdict) -> None:
    for notice in verdict.notices[:SHOWN]:
        say(f"note: {notice}")
    for each in verdict.violations[:SHOWN]:
        say(f"{each.file}:{each.line}: {each.rule}: {each.group}: {each.who}: {each.text}")
    beyond = len(verdict.violations) - SHOWN
    if beyond > 0:
        say(f"and {beyond} more")
    table = Table("rule", "violations")
    for rule in RULES:
        table.add_row(rule, str(sum(each.rule == rule for each in verdict.violations)))
    Terminal().print(table)
    say(", ".join(f"{count} {name}" for name, count in sorted(verdict.counts.items())))

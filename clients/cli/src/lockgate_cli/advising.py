"""The commands `simulate` and `advise`, which compare values of `max_drift` in simulations."""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from lockgate.duration import spoken
from lockgate.errors import InvalidValue
from lockgate.simulate.fleet import RunOutcome
from lockgate.simulate.sweep import Sweep, default_drifts, sweep
from lockgate.simulate.workload import Workload
from lockgate_cli.client import Fault, OperatorClient
from lockgate_cli.group_loads import Given, GroupLook, load_of, paces_of
from lockgate_cli.options import GroupArgument, connected, milliseconds
from lockgate_cli.output import Output, OutputOption, Terminal, print_answer, progress, say
from lockgate_cli.workloads import read_observed, read_workload

LOOK_S = 1.0  # between two moves of the bar

Drifts = Annotated[
    str | None,
    typer.Option(
        "--max-drift",
        help="Values of max_drift to try, separated by commas, such as 1min,5min. [default: derived from the "
        "watermark delay]",
        show_default=False,
    ),
]
Window = Annotated[str, typer.Option("--window", help="The length of the query's windows, or 0s if it has none.")]


def simulate(
    workload: Annotated[
        Path, typer.Argument(metavar="WORKLOAD", exists=True, dir_okay=False, help="A workload file in YAML.")
    ],
    observed: Annotated[
        bool, typer.Option("--observed", help="Read the file as the JSON report of a run in observe mode.")
    ] = False,
    window: Window = "0s",
    max_drift: Drifts = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Simulate a workload with plain Spark and with several values of max_drift. Compare the rows
    lost, the drift, the rows in state and the speed. The real planner and group rules run in
    virtual time.
    """
    try:
        _tell(read_observed(workload, milliseconds(window)) if observed else read_workload(workload), max_drift, output)
    except Fault as fault:
        say(f"lockgate: {fault}", err=True)
        raise typer.Exit(1) from fault


@connected()
def advise(
    client: OperatorClient,
    group: GroupArgument,
    delay: Annotated[str, typer.Option("--delay", help="The watermark delay of the queries.")] = "10min",
    window: Window = "0s",
    max_drift: Drifts = None,
    watch_for: Annotated[
        str, typer.Option("--watch-for", help="How long to watch the group before the simulation.")
    ] = "1min",
    batch_overhead: Annotated[
        str, typer.Option("--batch-overhead", help="The time that each batch takes in addition to reading its rows.")
    ] = "1s",
    trigger: Annotated[str, typer.Option("--trigger", help="The trigger interval of the queries.")] = "0s",
    records_per_second: Annotated[
        float | None,
        typer.Option(
            "--records-per-second",
            min=1,
            help="How many records each query reads per second. [default: its current rate]",
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Recommend a max_drift for a group: watch the group (--watch-for), then simulate its unread
    records with plain Spark and with several values of max_drift.
    """
    given = Given(
        delay_ms=milliseconds(delay),
        window_ms=milliseconds(window),
        overhead_ms=milliseconds(batch_overhead),
        trigger_ms=milliseconds(trigger),
        records_per_second=records_per_second,
    )
    seconds = milliseconds(watch_for) / 1000
    found, readers = client.whole_group(group)
    configured = client.journal(group, limit=1, kind="group_configured", order="newest")

    def look() -> GroupLook:
        sources = [client.whole_source(group, source) for source in readers]
        now = max((each["now"] for each in sources), default=0)
        return GroupLook(now, {each["source"]: each["readers"] for each in sources})

    first = look()
    with progress(f"watching {group}", shown=output is Output.TABLE) as advance:
        _wait(seconds, advance)
    paces = paces_of(client.samples(group), configured[0]["at"] if configured else 0)
    workload, assumed = load_of(group, found["config"], first, look(), given, paces)
    _tell(workload, max_drift, output, assumed, found["config"]["max_drift_ms"])


def _wait(seconds: float, advance: Callable[[float], None]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        advance(1 - left / seconds)
        time.sleep(min(LOOK_S, left))


def _tell(
    workload: Workload, drifts: str | None, output: Output, assumed: list[str] | None = None, now_ms: int | None = None
) -> None:
    tried = default_drifts(workload) if drifts is None else tuple(milliseconds(each) for each in drifts.split(","))
    try:
        with progress("simulating", shown=output is Output.TABLE) as advance:
            found = sweep(workload, tried, advance)
    except InvalidValue as error:
        raise Fault(f"{error}") from error
    sentences = told(workload, found, now_ms)
    if output is not Output.TABLE:
        advised = found.advised
        answer = {
            "plain_spark": asdict(found.native),
            "aligned": [asdict(outcome) for outcome in found.aligned],
            "advised_max_drift_ms": None if advised is None else advised.max_drift_ms,
            "advice": sentences,
            "assumed": assumed or [],
        }
        print_answer(answer, output)
        return
    console = Terminal()
    console.print(_table(workload, found))
    for sentence in sentences:
        console.print(sentence)
    for sentence in assumed or []:
        console.print(f"Assumed: {sentence}", style="dim")


def told(workload: Workload, found: Sweep, now_ms: int | None = None) -> list[str]:
    """Return sentences on the rows that plain Spark loses and on the advised `max_drift`.

    `now_ms` is the group's current `max_drift` (ms), or None without a group.
    """
    native, advised = found.native, found.advised
    sentences = [f"Plain Spark loses {f'{native.lost:,}' if native.lost else 'none'} of {native.rows:,} rows."]
    if advised is None or advised.max_drift_ms is None:
        least = min(found.aligned, key=lambda outcome: outcome.lost)
        return [
            *sentences,
            f"Every max_drift that was tried loses rows, {spoken(least.max_drift_ms or 0)} the fewest with "
            f"{least.lost:,}. Make the watermark delay longer, or try smaller drifts.",
        ]
    sentences.append(
        f"Take max_drift {spoken(advised.max_drift_ms)}: it loses no row, at {_speed(advised, found)} of plain Spark's "
        "speed."
    )
    if now_ms is not None and now_ms != advised.max_drift_ms:
        sentences.append(f"The group has {spoken(now_ms)} now.")
    delay = min(query.delay_ms for query in workload.queries)
    if advised.max_drift_ms > delay:
        sentences.append(f"It is above the watermark delay of {spoken(delay)}: other data may lose rows under it.")
    return sentences


def _speed(outcome: RunOutcome, found: Sweep) -> str:
    """Return the speed of a run as a percentage of the speed of plain Spark."""
    native = found.native.rows_per_second
    return f"{outcome.rows_per_second / native if native else 1.0:.0%}"


def _table(workload: Workload, found: Sweep) -> Table:
    live = any(split.lag_ms is not None for query in workload.queries for split in query.splits)
    outcomes = (found.native, *found.aligned)
    columns: dict[str, list[str]] = {
        "max_drift": ["plain Spark" if o.max_drift_ms is None else spoken(o.max_drift_ms) for o in outcomes],
        "rows lost": [f"{o.lost:,}" for o in outcomes],
        "drift": [spoken(o.peak_drift_ms) for o in outcomes],
        **({"between queries": [spoken(o.peak_lead_ms) for o in outcomes]} if len(workload.queries) > 1 else {}),
        "rows in state": [f"{o.state_rows:,}" for o in outcomes],
        "speed": [_speed(o, found) for o in outcomes],
        "batches": [f"{o.batches:,}" for o in outcomes],
        **({"longest wait": [spoken(o.longest_wait_ms) for o in outcomes]} if live else {}),
    }
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name == "max_drift" else "right")
    for outcome, *cells in zip(outcomes, *columns.values(), strict=True):
        table.add_row(*cells, style="bold" if outcome is found.advised else "red" if outcome.lost else None)
    return table

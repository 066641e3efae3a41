"""Verdicts as JSON lines, one a scenario, and the table that is made of them."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from seeded.judging import Behind, Verdict
from seeded.scenario import Kind

RESULTS = Path("build/scenarios/results.jsonl")
COLUMNS = (
    "scenarios",
    "run",
    "passed",
    "rows",
    "lost by plain Spark",
    "lost aligned",
    "of these inside the promise",
    "seconds behind native, median",
    "p99",
)


def append(verdict: Verdict, out: Path) -> None:
    """A line at the end of the file; several processes may do so at a time."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(verdict)) + "\n")


def read(out: Path) -> list[Verdict]:
    """The last verdict on each seed and code."""
    found: dict[tuple[int, str], Verdict] = {}
    for text in out.read_text(encoding="utf-8").splitlines() if out.exists() else ():
        one = _verdict(json.loads(text))
        found[one.seed, one.code] = one
    return list(found.values())


def _verdict(fields: dict[str, object]) -> Verdict:
    behind = {name: None if fields[name] is None else Behind(**fields[name]) for name in ("native_behind", "behind")}  # type: ignore[arg-type]
    return Verdict(**{**fields, **behind, "broken": tuple(fields["broken"]), "notes": tuple(fields["notes"])})  # type: ignore[arg-type]


def code() -> str:
    """The code that was played: the commit, and whether sources differ from it."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--", "core", "clients", "services") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def line(verdict: Verdict) -> str:
    """The line that is printed for a scenario, with the command that repeats it where it failed."""
    lost = f"lost {'' if verdict.native_lost is None else f'{verdict.native_lost} natively, '}{verdict.lost} aligned"
    said = f"seed {verdict.seed}, {verdict.kind} ({verdict.title}): {verdict.rows} rows, {lost}"
    if verdict.behind is not None and verdict.native_behind is not None:
        native, aligned = verdict.native_behind, verdict.behind
        said += f"; behind {native.p50}/{native.p99} s natively, {aligned.p50}/{aligned.p99} s aligned"
    said += f"; {verdict.took_s} s"
    return (
        said if verdict.passed else f"{said}\n  BROKEN: {'; '.join(verdict.broken)}\n  again: {command(verdict.seed)}"
    )


def command(seed: int) -> str:
    """The command that repeats one scenario."""
    return f"make scenarios ARGS='--seeds {seed}'"


def table(verdicts: Iterable[Verdict]) -> str:
    """Markdown: a row for each class, and the failed ones below."""
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_kind[verdict.kind].append(verdict)
    every = [verdict for of in by_kind.values() for verdict in of]
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += [_row(kind.value, by_kind[kind.value]) for kind in Kind if by_kind[kind.value]]
    lines.append(_row("all", every))
    broken = [
        f"- seed {v.seed}, {v.kind} ({v.title}): {'; '.join(v.broken)}"
        for v in sorted(every, key=lambda v: v.seed)
        if not v.passed
    ]
    return "\n".join([*lines, *(["", *broken] if broken else [])])


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    excess = [
        (v.behind.p50 - v.native_behind.p50, v.behind.p99 - v.native_behind.p99)
        for v in verdicts
        if v.behind and v.native_behind
    ]
    native = sum(v.native_lost for v in verdicts if v.native_lost is not None)
    cells = [
        name,
        str(len(verdicts)),
        str(sum(v.passed for v in verdicts)),
        f"{sum(v.rows for v in verdicts):,}",
        f"{native:,}",
        f"{sum(v.lost for v in verdicts):,}",
        f"{sum(v.inside for v in verdicts):,}",
        *(_median(values) for values in zip(*excess, strict=True)),
    ]
    return "| " + " | ".join([*cells, *["–"] * (len(COLUMNS) - len(cells))]) + " |"


def _median(values: Sequence[float]) -> str:
    middle = sorted(values)[len(values) // 2]
    return f"{middle:.1f} (at most {max(values):.1f})"

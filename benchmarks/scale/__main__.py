"""How far coordinators and a planner go, and how their costs grow (`make bench-scale`).

    virtual   100,000 partitions in 1,000 sources over 100 groups: the coordinator's own code in
              virtual time, with readers that check each ceiling
    growth    what one operation costs by partitions, readers, groups, streams and splits, with the
              exponent of each; also the pictures scale.png and scale-dark.png
    http      2,000 readers over HTTP against two processes and a real Redis, for ten minutes

`make bench-scale ARGS="growth --sweeps plans --rounds 5"` runs a part. Each part writes its figures
to build/scale/PART.jsonl, a line of JSON each, the first one with the command and the machine.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.scale import growth, http, pictures, virtual
from benchmarks.tables import markdown
from lockgate_coordinator.server import collect_garbage_seldom
from lockgate_testbed.progress import progress_bar

COLUMNS = ("operation", "by", "ms at each size", "exponent", "over the last decade")


def of_virtual(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    world = virtual.World(chosen.groups, chosen.sources, chosen.partitions, chosen.virtual_seconds)
    with progress_bar(f"virtual seconds of {world.counts['partitions']:,} partitions", world.seconds) as progress:
        found = virtual.measured(world, progress)
    yield found
    print(markdown(("", "figure"), [(name.replace("_", " "), f"{value:,.6g}") for name, value in found.items()]))


def of_growth(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    found = []
    for name in chosen.sweeps:
        sizes = [size for size in growth.SWEEPS[name].sizes if size <= chosen.most]
        with progress_bar(name, len(sizes) * chosen.rounds) as progress:
            rows = list(growth.measured(name, sizes, chosen.rounds, progress))
        yield from rows
        found += rows
    print(markdown(COLUMNS, map(cells, found)))
    print(*(pictures.draw(found, chosen.out) or ["no pictures"]), sep=", ")


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return an operation's line of the table."""
    costs = ", ".join(f"{each['size']:,}: {1e3 * each['s']:.3g}" for each in row["costs"])
    fitted = ("{median:.2f} ({least:.2f}–{most:.2f})".format(**row[at]) for at in ("exponent", "last_decade"))
    return row["operation"], row["axis"], costs, *fitted


def of_http(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with progress_bar(f"seconds of {chosen.readers:,} readers", chosen.seconds) as progress:
        sizes = chosen.readers, chosen.reader_groups, chosen.reader_partitions
        found = http.measured(*sizes, chosen.report_every, chosen.seconds, progress)
    yield found
    columns = ("ms", "count", "p50", "p90", "p99", "p99.9", "most")
    latencies = sorted(found["latencies"].items())
    print(markdown(columns, [(kind, *(f"{each[at]:,.3g}" for at in columns[1:])) for kind, each in latencies]))
    print(json.dumps({name: value for name, value in found.items() if name != "latencies"}, indent=1))


PARTS = {"virtual": of_virtual, "growth": of_growth, "http": of_http}


def conditions() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    load = os.getloadavg()[0]
    return {
        "command": " ".join(["bench-scale", *sys.argv[1:]]),
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": load,
    }


def main() -> None:
    """Run the parts from the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench-scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shows = {"help": "(default: %(default)s)"}
    parser.add_argument("parts", nargs="*", help=f"out of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--out", type=Path, default=Path("build/scale"), **shows)
    of = parser.add_argument_group("virtual")
    for name, count in (("groups", 100), ("sources", 10), ("partitions", 100), ("virtual-seconds", 120)):
        of.add_argument(f"--{name}", type=int, default=count, **shows)
    of = parser.add_argument_group("growth")
    sweeps = growth.SWEEPS
    of.add_argument("--sweeps", nargs="+", choices=sweeps, default=list(sweeps), help="(default: all)")
    of.add_argument("--rounds", type=int, default=3, **shows)
    of.add_argument("--most", type=int, default=100_000, help="the largest size (default: %(default)s)")
    of = parser.add_argument_group("http")
    of.add_argument("--seconds", type=int, default=600, **shows)
    of.add_argument("--report-every", type=float, default=5, metavar="SECONDS", **shows)
    for name, count in (("readers", 2_000), ("reader-groups", 20), ("reader-partitions", 10)):
        of.add_argument(f"--{name}", type=int, default=count, **shows)
    chosen = parser.parse_args()
    unknown = [part for part in chosen.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(PARTS)}")
    chosen.out.mkdir(parents=True, exist_ok=True)
    collect_garbage_seldom()  # as the coordinator does
    for part in chosen.parts or PARTS:
        with (chosen.out / f"{part}.jsonl").open("w", encoding="utf-8") as lines:
            print(json.dumps(conditions()), file=lines)
            for row in PARTS[part](chosen):
                print(json.dumps(row), file=lines, flush=True)


if __name__ == "__main__":
    main()

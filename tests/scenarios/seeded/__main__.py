"""`python -m seeded --seed 1 --scenarios 20` plays scenarios, with a line for each in a file;
`python -m seeded --table` renders it.
"""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from lockgate_testbed.spark import session
from seeded.drawing import draw
from seeded.playing import Brokers, Plant
from seeded.results import RESULTS, append, code, line, read, table


def main() -> int:
    """1 where a scenario failed."""
    parser = argparse.ArgumentParser(prog="scenarios", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--scenarios", type=int, default=1, help="how many seeds from there on (default 1)")
    parser.add_argument("--seeds", type=int, nargs="+", help="these seeds instead")
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"the file (default {RESULTS})")
    parser.add_argument("--resume", action="store_true", help="leave out the seeds that the file has of this very code")
    parser.add_argument("--table", action="store_true", help="play nothing; render the file as Markdown")
    chosen = parser.parse_args()
    if chosen.table:
        print(table(read(chosen.out)))
        return 0
    version = code()
    seeds = chosen.seeds or range(chosen.seed, chosen.seed + chosen.scenarios)
    done = {found.seed for found in read(chosen.out) if found.code == version} if chosen.resume else set()
    failed = 0
    with ExitStack() as stack:
        spark = session("scenarios", cores=2)
        here = Plant(spark, Brokers(stack))
        for seed in seeds:
            if seed not in done:
                verdict = here.verdict(draw(seed), version)
                append(verdict, chosen.out)
                print(line(verdict), flush=True)
                failed += not verdict.passed
        spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

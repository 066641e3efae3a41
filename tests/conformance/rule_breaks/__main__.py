"""`python -m rule_breaks` in tests/conformance: breaks each rule in a copy of its package, replays
Flink's traces (for the core) and runs its tests.

Prints a table of what caught each; the exit code is the number of breaks that nothing caught.
"""

import argparse
import sys

from rule_breaks.breaks import BREAKS
from rule_breaks.catching import caught_by


def main() -> int:
    """0 if each break is caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="", help="only the breaks whose rule has this word")
    word = parser.parse_args().word
    missed = 0
    print("| rule broken | file | replay | tests |\n|---|---|---|---|")
    for each in (each for each in BREAKS if word in each.rule):
        replay, tests = caught_by(each)
        missed += not (replay or tests)
        print(f"| {each.rule} | `{each.file}` | {replay or '–'} | {tests or '–'} |", flush=True)
    return missed


sys.exit(main())

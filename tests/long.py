"""Run every long suite, one after the other: `make long`, or `make long ARGS=tests/reader`.

A suite is a test file with tests marked `long`; it runs in a pytest of its own, with its output in
build/long/. Each result is written to build/long/results.jsonl as soon as there is one, so a run
that was cut off continues where it stopped: suites that have passed on this commit are not
repeated (`--again` repeats them). build/long/summary.md has the table. Exits with 1 if a suite
failed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDER = CHECKOUT / "build/long"
RESULTS, SUMMARY = FOLDER / "results.jsonl", FOLDER / "summary.md"
LONGEST_S = 2 * 3600
PYTEST = [sys.executable, "-m", "pytest", "-m", "long"]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one suite. `settings`: the LOCKGATE_ variables, seeds among them."""

    suite: str
    commit: str
    settings: str
    passed: int
    failed: int
    skipped: int
    minutes: float

    @property
    def verdict(self) -> str:
        """Passed only if a test ran and none failed."""
        return "failed" if self.failed or not self.passed + self.skipped else "passed" if self.passed else "skipped"


def main() -> int:
    """Run the suites that are left, and write the table."""
    parser = argparse.ArgumentParser(prog="make long", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["tests"], help="test files or folders (default: all)")
    parser.add_argument("--again", action="store_true", help="repeat suites that have passed on this commit")
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    here = commit()
    found = suites(chosen.paths)
    passed = [each for each in read() if (each.commit, each.verdict) == (here, "passed")]
    done = {} if chosen.again else {each.suite: each for each in passed}
    print(f"{len(found)} suites, of which {len(done.keys() & found.keys())} have passed on {here}", flush=True)
    results = []
    for number, (suite, tests) in enumerate(sorted(found.items()), 1):
        print(f"[{number}/{len(found)}] {suite}, {tests} tests … ", end="", flush=True)
        result = done.get(suite) or run(suite, here)
        print(f"{result.verdict} in {result.minutes:.1f} min{' (earlier)' if suite in done else ''}", flush=True)
        results.append(result)
        SUMMARY.write_text(table(results), encoding="utf-8")
    counts = Counter(each.verdict for each in results)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {SUMMARY.relative_to(CHECKOUT)}")
    return int(any(each.verdict == "failed" for each in results))


def commit() -> str:
    """The commit's short hash, and the time if the tree has changes: then nothing is left out."""
    git = ["git", "-C", str(CHECKOUT)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    changes = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    return name.strip() + (f"+{int(time.time())}" if changes else "")


def suites(paths: list[str]) -> Counter[str]:
    """Each file with long tests, and how many."""
    listed = subprocess.run(
        [*PYTEST, "--collect-only", "-q", *paths], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    found = Counter(line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line)
    if not found:
        raise SystemExit(f"no long tests in {' '.join(paths)}:\n{listed.stdout[-2_000:]}{listed.stderr[-2_000:]}")
    return found


def run(suite: str, here: str) -> Result:
    """Run one suite and write its result down."""
    name = suite.removeprefix("tests/").removesuffix(".py").replace("/", ".")
    report, began = FOLDER / f"{name}.xml", time.monotonic()
    report.unlink(missing_ok=True)
    with (FOLDER / f"{name}.log").open("w") as log:
        command = [*PYTEST, "-v", suite, f"--junitxml={report}"]  # -v: a run that is cut off names what has failed
        with subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=subprocess.STDOUT) as pytest:
            try:
                pytest.wait(LONGEST_S)
            except (subprocess.TimeoutExpired, KeyboardInterrupt) as cut:
                pytest.terminate()
                if isinstance(cut, KeyboardInterrupt):
                    raise
    counts = Counter[str]()
    if report.exists():
        (suite_counts,) = ElementTree.parse(report).getroot()
        counts = Counter({key: int(suite_counts.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")})
    failed = counts["failures"] + counts["errors"] if counts["tests"] else 1
    result = Result(
        suite=suite,
        commit=here,
        settings=" ".join(f"{key}={value}" for key, value in sorted(os.environ.items()) if key.startswith("LOCKGATE_")),
        passed=counts["tests"] - counts["failures"] - counts["errors"] - counts["skipped"],
        failed=failed,
        skipped=counts["skipped"],
        minutes=round((time.monotonic() - began) / 60, 1),
    )
    with RESULTS.open("a", encoding="utf-8") as results:
        results.write(json.dumps(asdict(result)) + "\n")
    return result


def read() -> list[Result]:
    """All results that were written down."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [Result(**json.loads(line)) for line in lines]


def table(results: list[Result]) -> str:
    """The results as Markdown."""
    rows = [
        f"| `{each.suite}` | {each.verdict} | {each.passed} | {each.failed} | {each.skipped} | {each.minutes} "
        f"| {each.settings} |"
        for each in results
    ]
    head = ["| suite | result | passed | failed | skipped | minutes | settings |", "|---|---|---|---|---|---|---|"]
    return "\n".join([f"Commit {results[0].commit}", "", *head, *rows, ""])


if __name__ == "__main__":
    sys.exit(main())

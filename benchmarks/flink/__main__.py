"""Flink's watermark alignment in a catch-up, by its settings.

Two sources of one Flink job, which runs in one process, drain a backlog of one day. The second has
half the rate of the first, so the first is to wait for it. Each round runs all settings in turn.
The benchmark writes build/bench/flink.json and flink.md. It needs a JDK, for the job is Java.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lockgate_testbed import jars
from lockgate_testbed.artifacts import FLINK_VERSION
from lockgate_testbed.java import java, options
from lockgate_testbed.progress import progress_bar

JOB = Path(__file__).with_name("CatchUp.java")
# Flink's serializer looks into the collections and times of the JDK.
OPENS = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "time", "util", "util.concurrent")]
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
INTERVAL_MS = 1_000
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Setting:
    """`drift_ms`: 0 without alignment. `buffer`: Flink's ring buffer of watermark samples."""

    drift_ms: int
    buffer: int


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one run. `beyond`: the share of the records that were read while their source
    was ahead of the other one by more than the drift.
    """

    setting: Setting
    seconds: float
    apart_ms: int
    beyond: float


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(prog="make bench-flink", description=__doc__)
    parser.add_argument("--records", type=int, default=400_000, help="of each source (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=40_000, help="records/s of the first source (default: %(default)s)")
    parser.add_argument("--drift-minutes", type=int, nargs="+", default=[10, 60], help="(default: %(default)s)")
    parser.add_argument("--buffers", type=int, nargs="+", default=[0, 1, 3], help="(default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="(default: %(default)s)")
    chosen = parser.parse_args()
    drifts = [minutes * MINUTE_MS for minutes in chosen.drift_minutes]
    settings = [Setting(0, 3), *(Setting(drift, buffer) for drift in drifts for buffer in chosen.buffers)]
    runs = list[Run]()
    with tempfile.TemporaryDirectory() as folder, progress_bar("runs", chosen.rounds * len(settings)) as bar:
        classpath = compiled(Path(folder))
        for _ in range(chosen.rounds):
            for setting in settings:
                runs.append(run(classpath, setting, chosen.records, chosen.rate))
                bar(len(runs))
    text = markdown(settings, runs)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "flink.json").write_text(json.dumps([asdict(each) for each in runs], indent=1))
    (chosen.out / "flink.md").write_text(text)
    print(f"Flink {FLINK_VERSION}, an announcement every {INTERVAL_MS / 1_000:g} s:\n\n{text}")


def compiled(folder: Path) -> str:
    """Compile the job, and return its classpath."""
    javac = shutil.which("javac", path=str(Path(java()).resolve().parent)) or shutil.which("javac")
    if javac is None:
        raise SystemExit("no javac beside java: install a JDK (Debian: apt-get install openjdk-17-jdk-headless)")
    libraries = ":".join(map(str, jars.flink()))
    subprocess.run([javac, "-cp", libraries, "-d", str(folder), str(JOB)], check=True)
    return f"{folder}:{libraries}"


def run(classpath: str, setting: Setting, records: int, rate: int) -> Run:
    """Run the job once."""
    arguments = [setting.drift_ms, INTERVAL_MS, setting.buffer, records, rate]
    command = [java(), *options(), *OPENS, QUIET, "-cp", classpath, "CatchUp", *map(str, arguments)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Run(setting, **json.loads(said.splitlines()[-1]))


def markdown(settings: Sequence[Setting], runs: Sequence[Run]) -> str:
    """Return a row for each setting."""
    rows = ["| drift | buffer | s | apart at most, min | records beyond the drift |", "|---|---|---|---|---|"]
    for setting in settings:
        ours = [each for each in runs if each.setting == setting]
        drift = f"{setting.drift_ms // MINUTE_MS} min | {setting.buffer}" if setting.drift_ms else "no alignment | –"
        apart = spread([each.apart_ms / MINUTE_MS for each in ours], "{:.0f}")
        beyond = spread([100 * each.beyond for each in ours], "{:.0f}") + " %" if setting.drift_ms else "–"
        rows.append(f"| {drift} | {spread([each.seconds for each in ours], '{:.0f}')} | {apart} | {beyond} |")
    return "\n".join(rows) + "\n"


def spread(values: Sequence[float], form: str) -> str:
    """Return the median with the lowest and the highest value in brackets."""
    low, high = form.format(min(values)), form.format(max(values))
    return f"{form.format(statistics.median(values))} ({low}–{high})"


if __name__ == "__main__":
    main()

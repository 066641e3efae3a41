"""The quick start as a new user meets it: `make bench-quickstart`. In an empty environment outside
of the checkout it installs the wheels of `make dist`, then reads a topic of which one partition
lags, by the commands and the program of docs/quickstart.md. Each step twice: with empty caches of
pip and of Ivy, and with those that the first time has filled. Prints the seconds of each step.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

CHECKOUT = Path(__file__).resolve().parents[2]
DIST = CHECKOUT / "build/dist"
PAGE = CHECKOUT / "docs/quickstart.md"
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
RECORDS, PARTITIONS, BEHIND_MS = 200_000, 4, 3_600_000
FIRST_MS = 1_767_268_800_000  # 2026-01-01 12:00 UTC


def main() -> None:
    """Run the benchmark from the command line."""
    if not list(DIST.glob("lockgate_spark-*.whl")):
        raise SystemExit(f"no wheels in {DIST}: call `make dist` first")
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    install = next(text for language, text in blocks if language == "bash" and "build/dist" in text)
    job = next(text for language, text in blocks if language == "python" and "TOPIC" in text)
    with tempfile.TemporaryDirectory() as folder, KafkaBroker() as kafka:
        fill(kafka.bootstrap)
        conf = Path(folder, "conf")
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(f"spark.jars.ivy {folder}/ivy\n", encoding="utf-8")
        for caches in ("cold", "warm"):
            steps = try_it(Path(folder, caches), install, job, kafka.bootstrap, Path(folder))
            whole = sum(seconds for _, seconds in steps)
            for step, seconds in [*steps, ("in all", whole)]:
                print(f"{caches} caches: {step}: {seconds:.0f} s", flush=True)


def fill(bootstrap: str) -> None:
    """Fill a topic with four records a second, those of the last partition an hour older."""
    topics.create(bootstrap, "orders", PARTITIONS)
    times = (
        (number % PARTITIONS, FIRST_MS + 250 * number - BEHIND_MS * (number % PARTITIONS == PARTITIONS - 1))
        for number in range(RECORDS)
    )
    topics.produce(bootstrap, "orders", ((partition, at, None, b"{}") for partition, at in times))


def try_it(home: Path, install: str, job: str, bootstrap: str, caches: Path) -> list[tuple[str, float]]:
    """Take the steps in a new environment in `home`, and return each with its seconds."""
    home.mkdir()
    (home / "first_aligned.py").write_text(job.replace("localhost:9092", bootstrap), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {
        **kept,
        "PATH": f"{home}/venv/bin:{os.environ['PATH']}",
        "PIP_CACHE_DIR": str(caches / "pip"),
        "SPARK_CONF_DIR": str(caches / "conf"),
    }
    install = install.replace("build/dist", str(DIST))
    return [
        ("python3 -m venv", timed(lambda: called([sys.executable, "-m", "venv", "venv"], home, environment))),
        ("pip install", timed(lambda: called(["sh", "-ec", install], home, environment))),
        ("python first_aligned.py, to the first aligned batch", until_a_batch(home, environment)),
    ]


def timed(step: Callable[[], object]) -> float:
    """Run a command, and return the seconds that it takes."""
    began = time.monotonic()
    step()
    return time.monotonic() - began


def called(command: list[str], home: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def until_a_batch(home: Path, environment: dict[str, str]) -> float:
    """Return the seconds to the program's line about its first batch, after waiting for the rest as
    well.
    """
    began, first = time.monotonic(), None
    command = [str(home / "venv/bin/python"), "-u", "first_aligned.py"]
    with (home / "log").open("w+") as log:
        with subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as run:
            for line in run.stdout or ():
                print(f"  {line}", end="", flush=True)
                if first is None and line.startswith("batch "):
                    first = time.monotonic() - began
        if run.returncode or first is None:
            log.seek(0)
            raise SystemExit(log.read())
    return first


if __name__ == "__main__":
    main()

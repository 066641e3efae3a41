"""`python -m examples.demo`: three acts on a real Kafka, a table, build/demo/summary.json and
build/demo/report.html.

Exit code 1 when something is missing on this machine or a claim does not hold, 130 or 143 after
Ctrl-C or SIGTERM.
"""

import argparse
import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

from examples.demo.signals import Signals, Stopped

OUT = Path("build/demo")
FEWEST = 1_000


def main(arguments: list[str] | None = None) -> int:
    """Run the demo, and return the exit code."""
    options = _options(arguments)
    signals = Signals()
    signals.install()
    try:
        # Not at the top: PySpark and plotly take a second to import, in which a signal is to end
        # the program as quietly as later.
        from examples.demo.program import demo

        try:
            return demo(
                options.records, options.store, options.out, _command(options), signals, dashboard=options.dashboard
            )
        except Exception:
            # a signal to all processes of a group ends Spark beneath us: that is no failure
            signals.check()
            raise
    except Stopped as stopped:
        print("stopped, with everything that was started", file=sys.stderr)
        return stopped.exit_code


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description=(
            "Plain Spark beside lockgate on a real Kafka, and two queries that stay aligned. Starts all it needs, "
            "and stops it."
        ),
    )
    parser.add_argument("--records", type=_count, default=2_000_000, help="records in the topic (default: %(default)s)")
    parser.add_argument(
        "--store", default="memory://", help="the coordinator's store, memory:// or redis://… (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, help="folder of summary.json and report.html (default: %(default)s)"
    )
    parser.add_argument(
        "--dashboard", action="store_true", help="keep the coordinator in the end, to look at in a browser"
    )
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < FEWEST:
        raise argparse.ArgumentTypeError(f"expected a number of at least {FEWEST}, not {text!r}")
    return int(text)


def _command(options: argparse.Namespace) -> str:
    # A Redis URL may hold a password, and the summary is for others to read.
    store = urlsplit(options.store)
    shown = options.store if store.username is None and store.password is None else f"{store.scheme}://…"
    return shlex.join(["python", "-m", "examples.demo", "--records", str(options.records), "--store", shown])


if __name__ == "__main__":
    sys.exit(main())

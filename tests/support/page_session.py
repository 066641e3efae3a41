"""Runs a page's blocks in order, in one fresh Python: `python -m support.page_session BLOCKS
RESULTS`.

BLOCKS is a JSON list of [place, language, text]; RESULTS gets a list of [place, what it printed].
Ends with the first block that fails. Queries that a page leaves running are stopped at its end, and
one that has failed fails the page.
"""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

from lockgate_testbed.spark import session


def main(given: Path, results: Path) -> None:
    """Run them all."""
    # The page's `spark`; its own getOrCreate() takes this session, too. The connector is on its
    # classpath, as `spark.jars.packages` would put it there.
    spark = session("a page")
    names: dict[str, object] = {"__name__": "__main__", "spark": spark}
    said: list[tuple[str, str]] = []
    for place, language, text in json.loads(given.read_text(encoding="utf-8")):
        print(f"runs {place}", flush=True)
        if language == "bash":
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, place, "exec"), names)
        said.append((place, printed.getvalue()))
    for query in spark.streams.active:
        query.processAllAvailable()
        query.stop()
    results.write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

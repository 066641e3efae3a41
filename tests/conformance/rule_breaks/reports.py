"""Rules of the report of mode observe, and of the status of a query: what was lost, and what is not
known.
"""

from functools import partial

from rule_breaks.breaking import Break

Report = partial(Break, package="lockgate_spark")

OBSERVATION = ("test_observation.py",)
SENTENCES = ("test_sentences.py",)
FILES = ("test_report_files.py",)

REPORTS: tuple[Break, ...] = (
    Report(
        "a row whose window is still open is not lost",
        "jvm/losses.py",
        "return (watermark - self.offset) // self.size * self.size + self.offset - 1",
        "return watermark",
        ("test_losses.py",),
    ),
    Report(
        "a count after a partial aggregation is no exact loss",
        "report/observation.py",
        "if shape.whole and most is not None and len(operators) == 1:",
        "if most is not None and len(operators) == 1:",
        OBSERVATION,
    ),
    Report(
        "late rows by another event time bound no loss",
        "report/observation.py",
        "most = None if late is None or not shape.seen else late + early",
        "most = None if late is None else late + early",
        OBSERVATION,
    ),
    Report(
        "a progress report that is seen twice counts once",
        "report/observation.py",
        "            if progress == self._progress:\n                return\n",
        "",
        OBSERVATION,
    ),
    Report(
        "a split without unread records is not far from any",
        "report/observation.py",
        "[p for p in view.partitions if p.end > p.position or p.next_event_time is not None]",
        "list(view.partitions)",
        OBSERVATION,
    ),
    Report(
        "a timeline that is merged loses no moment",
        "report/observation.py",
        "one if two is None else one.with_next(two)",
        "one",
        OBSERVATION,
    ),
    Report(
        "an advised drift is never above the delay",
        "report/advice.py",
        "if 0 < found.max_drift_ms <= delay:",
        "if 0 < found.max_drift_ms:",
        SENTENCES,
    ),
    Report(
        "no row is promised that is out of order within its split",
        "report/advice.py",
        "if delay is not None and found.out_of_orderness_ms > delay:",
        "if False:",
        SENTENCES,
    ),
    Report(
        "names are text on the page",
        "report/pictures.py",
        '<th scope="row">{escape(called[partition.source, partition.partition])}</th>',
        '<th scope="row">{called[partition.source, partition.partition]}</th>',
        SENTENCES,
    ),
    Report(
        "a report that has ended is not written again",
        "report/files.py",
        "            if self._done:\n                return\n",
        "",
        FILES,
    ),
    Report(
        "the report of a process that ends is written",
        "report/files.py",
        "            _unfinished[id(self)] = lambda: self.write(RunState.CUT_OFF)\n",
        "            pass\n",
        FILES,
    ),
    Report(
        "names are text in a notebook",
        "telemetry/card.py",
        '<td style="{_CELL}">{escape(bar.partition)}</td>',
        '<td style="{_CELL}">{bar.partition}</td>',
        ("test_card.py",),
    ),
)

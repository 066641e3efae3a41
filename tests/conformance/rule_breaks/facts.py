"""Rules of the facts that readers report: what they are, how long they stay, and what metrics make
of them.
"""

from functools import partial

from rule_breaks.breaking import Break

Core = partial(Break, package="lockgate")
Service = partial(Break, package="lockgate_coordinator")
Client = partial(Break, package="lockgate_spark")
Shared = partial(Break, package="lockgate_http")

FACTS: tuple[Break, ...] = (
    Core(
        "a report without facts leaves the last ones",
        "group/reporting.py",
        "if event.facts is None and old.facts is not None:",
        "if False and event.facts is None and old.facts is not None:",
        ("test_commands.py",),
    ),
    Core(
        "a report whose reach is dropped, since it parks, keeps its facts",
        "group/leases.py",
        "            facts=reported.facts,\n",
        "",
        ("test_commands.py",),
    ),
    Service(
        "what is left of a retention is as of now, and never below nothing",
        "service/inspection.py",
        '"retention_left_ms": None if until is None else max(0, until - now_ms),',
        '"retention_left_ms": None if until is None else until - now_ms,',
        ("test_inspection.py",),
    ),
    Shared(
        "facts are sent where they have changed, and nowhere else",
        "group/reporting.py",
        "return None if facts == self._facts_answered.get(subtask) else facts",
        "return facts",
        ("test_reporting.py",),
    ),
    Shared(
        "other facts alone name no splits again",
        "group/source_status.py",
        "facts: ReaderFacts | None = field(default=None, compare=False)",
        "facts: ReaderFacts | None = field(default=None)",
        ("test_reporting.py",),
    ),
    Client(
        "the first reader of a query alone tells what the query has saved",
        "planning/query_facts.py",
        "rows_saved=rows_saved if i == first else None,",
        "rows_saved=rows_saved,",
        ("test_query_facts.py",),
    ),
    Client(
        "of the paused splits the one that is deleted first counts",
        "planning/retention.py",
        "if until < MAX and (i not in found or until < found[i].until):",
        "if until < MAX and i not in found:",
        ("test_query_facts.py",),
    ),
    Client(
        "a query that is in no group looks for no stamps",
        "planning/retention.py",
        "if self._tells and isinstance(",
        "if isinstance(",
        ("test_stamps.py",),
    ),
    Client(
        "a retention of all of 64 bits is none",
        "planning/retention.py",
        "if until < MAX and (",
        "if (",
        ("test_retention.py",),
    ),
)

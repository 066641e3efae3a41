"""Rules of the Spark client about mistakes: an event time that no record has, a group that is not
there.
"""

from functools import partial

from rule_breaks.breaking import Break

Client = partial(Break, package="lockgate_spark")
Shared = partial(Break, package="lockgate_http")

NO_TIMES = ("test_no_times.py",)
NEW_GROUPS = ("test_new_groups.py",)

ERRORS: tuple[Break, ...] = (
    Client(
        "an event time that no record has ends the query",
        "planning/no_times.py",
        "elif seen.valued:",
        "elif False:",
        NO_TIMES,
    ),
    Client(
        "records without a value end nothing",
        "planning/no_times.py",
        "elif seen.valued:",
        "elif seen.looked:",
        NO_TIMES,
    ),
    Client(
        "one partition without event times beside others ends nothing",
        "planning/no_times.py",
        "if source.event_time is None or source.log.heads(positions, ends):",
        "if source.event_time is None:",
        NO_TIMES,
    ),
    Client(
        "records are looked at again only where a log has grown",
        "planning/no_times.py",
        "self._looked.get(i) != ends and any(",
        "any(",
        NO_TIMES,
    ),
    Client(
        "a value is described by names alone",
        "planning/no_times.py",
        'return "their values are text, but no JSON"',
        'return "their values are text, but no JSON: " + value',
        NO_TIMES,
    ),
    Shared(
        "a group that must be there is not created",
        "group/new_groups.py",
        'if coordinator.new_group == "refuse":',
        "if False:",
        NEW_GROUPS,
    ),
    Shared(
        "a group that must be there is looked for before the first registration",
        "group/registration.py",
        "        self._refuse_new_group()\n        versions",
        "        versions",
        NEW_GROUPS,
    ),
    Client(
        "a plan that fails amid query.stop() is a stop, and plans no batch",
        "jvm/stream.py",
        "return not self._session.run.is_active()",
        "return False",
        ("test_stream.py",),
    ),
    Shared(
        "an error that quotes another query steers no terminal",
        "errors.py",
        "return printable(super().__str__())",
        "return super().__str__()",
        ("test_answers.py",),
    ),
    Client(
        "an operator's reason in a status steers no terminal",
        "telemetry/waits.py",
        'printable(f"{name} waits for {wait.what}{lasts}: {wait.why}.")',
        'f"{name} waits for {wait.what}{lasts}: {wait.why}."',
        ("test_waits.py",),
    ),
)

"""Rules of the coordinator that keep one caller from the others: limits, and what a browser's pages
may ask.
"""

from functools import partial

from rule_breaks.breaking import Break

_Break = partial(Break, package="lockgate_coordinator")

LIMITS: tuple[Break, ...] = (
    _Break(
        "a head that does not end is refused",
        "intake.py",
        "if self._head > HEAD_LIMIT and not self.transport.is_closing():",
        "if False:",
        ("test_intake.py",),
    ),
    _Break(
        "a request that does not end ends its connection",
        "intake.py",
        "if silent or (unfinished is not None and unfinished == self._unfinished):",
        "if silent:",
        ("test_intake.py",),
    ),
    _Break(
        "a body that is cut off is not accepted",
        "api/bodies.py",
        'if part["type"] != "http.request":',
        "if False:",
        ("test_intake.py",),
    ),
    _Break(
        "a body over the limit is refused",
        "api/bodies.py",
        "        if size > limit.size:\n",
        "        if False:\n",
        ("test_reports.py", "test_groups.py", "test_hostile_input.py"),
    ),
    _Break(
        "a body that announces too much is not read",
        "api/bodies.py",
        "and int(value[:19]) > limit.size:",
        "and False:",
        ("test_guard.py",),
    ),
    _Break(
        "an answer in one piece equals one in two",
        "intake.py",
        'lines = b"".join(b"%b: %b\\r\\n" % header for header in self._headers)',
        'lines = b""',
        ("test_intake.py",),
    ),
    _Break(
        "a body of very many values is not parsed",
        "limits.py",
        'sum(body.count(mark) for mark in (b",", b"{", b"[")) > self.values',
        "False",
        ("test_limits.py",),
    ),
    _Break(
        "a large body is decoded on a thread",
        "api/bodies.py",
        "    if len(arguments[-1]) <= LARGE:\n",
        "    if True:\n",
        ("test_bodies.py",),
    ),
    _Break(
        "heavy bodies leave the sockets some looks between two steps",
        "pauses.py",
        "for _ in range(LOOPS_BETWEEN_STEPS):",
        "for _ in range(1):",
        ("test_long_work.py",),
    ),
    _Break(
        "a commit has no more reports than are served in one go",
        "service/commit_queue.py",
        "fit = max(1, bisect_right(list(weights), COMMANDS_OF_A_TURN))",
        "fit = len(waiting)",
        ("test_long_work.py",),
    ),
    _Break(
        "a page of readers has a bound in bytes",
        "service/inspection.py",
        "if place and size > PAGE_SIZE:",
        "if False:",
        ("test_large_groups.py",),
    ),
    _Break(
        "of very many rejected reports the first alone are told in full",
        "api/problems.py",
        "told = error if place < REJECTED_IN_FULL else",
        "told = error if place <= REJECTED_IN_FULL else",
        ("test_limits.py",),
    ),
    Break(
        "progress adds no splits beyond the limit",
        "group/limits.py",
        "len(known) + sum(name not in known for name in named)",
        "len(named)",
        ("test_limits.py",),
    ),
    Break(
        "a group has no more readers than its limit",
        "group/limits.py",
        "if len(group.readers) >= self.readers:",
        "if len(group.readers) > self.readers:",
        ("test_limits.py",),
    ),
    Break(
        "a group has no more sources than its limit",
        "group/limits.py",
        "len(group.readers.sources()) >= self.sources:",
        "len(group.readers.sources()) > self.sources:",
        ("test_limits.py",),
    ),
    _Break(
        "a store has no more groups than its limit",
        "limits.py",
        "if groups >= self.groups:",
        "if groups > self.groups:",
        ("test_limits.py",),
    ),
    Break(
        "a reader says no more of itself than its limit",
        "group/limits.py",
        "> self.attributes:",
        "> 2 * self.attributes:",
        ("test_limits.py",),
    ),
    _Break(
        "a compiled decoder checks the ranges of the messages",
        "wire/fields.py",
        "Count = Annotated[int, Meta(ge=0, le=MAX)]",
        "Count = int",
        ("test_codec.py",),
        package="lockgate",
    ),
)

BROWSERS: tuple[Break, ...] = (
    _Break(
        "a host that a page may own is not answered for",
        "access/browsers.py",
        "if host and not self._allowed(host):",
        "if False:",
        ("test_browsers.py",),
    ),
    _Break(
        "a page of another origin is refused",
        "access/browsers.py",
        "netloc.lower() != host",
        "netloc.lower() == host",
        ("test_browsers.py",),
    ),
    _Break(
        "a name with a dot is a page's",
        "access/browsers.py",
        "return bool(name) and (",
        "return True or (",
        ("test_browsers.py",),
    ),
    _Break(
        "a body that is declared as a text is refused",
        "api/bodies.py",
        "and not is_json(value):",
        "and False:",
        ("test_browsers.py",),
    ),
    _Break(
        "a stream ends with its token",
        "access/under_way.py",
        "if token not in in_force:",
        "if False:",
        ("test_under_way.py",),
    ),
    _Break(
        "a token has half of all streams and long polls",
        "access/under_way.py",
        "self._waiting_of[token.digest] >= self._most_waiting:",
        "self._waiting_of[token.digest] > self._most_waiting:",
        ("test_under_way.py",),
    ),
    _Break(
        "a token sends so many large bodies at a time",
        "access/under_way.py",
        "self._large_of[token.digest] >= MOST_LARGE:",
        "self._large_of[token.digest] > MOST_LARGE:",
        ("test_under_way.py",),
    ),
)

"""Rules of the producers' lags: what they have shown, what is kept, and who waits for whom."""

from functools import partial

from rule_breaks.breaking import Break

Client = partial(Break, package="lockgate_spark")

LAG = ("test_producer_lag.py",)
FAR = ("test_far_behind.py", "test_broken_clocks.py")
KEPT = ("test_kept_lags.py",)
CARE = ("test_care.py",)
LATE = ("test_producers.py",)

PRODUCERS: tuple[Break, ...] = (
    Break("a memory covers a lag that has grown", "plan/producer_lag.py", "_GROWTH * there)", "2 * there)", LAG),
    Break(
        "a split unseen for an hour is unknown",
        "plan/producer_lag.py",
        "known=before.known and not (met and aged)",
        "known=before.known",
        LAG,
    ),
    Break("a lag of more than a day is not remembered", "plan/producer_lag.py", "if lag > self.far:", "if False:", FAR),
    Break(
        "only a split far below all that are not far holds nobody",
        "plan/far_behind.py",
        "if others - times[split] > bound)",
        "if others - times[split] >= 0)",
        FAR,
    ),
    Break(
        "a far split's watermark is the clock's",
        "plan/draft.py",
        "if head is None or self._backlogs[split].far_behind",
        "if head is None",
        FAR,
    ),
    Client(
        "a lag is kept before a plan goes by it",
        "planning/joint.py",
        "        self._producers.keep(bounds.max_drift)\n",
        "",
        KEPT,
    ),
    Client(
        "the wait is short only where nothing was appended lately",
        "planning/care.py",
        "self.newest < now - far_ms",
        "self.newest < now - recent_ms",
        CARE,
    ),
    Client(
        "late rows are counted on after a restart",
        "planning/producers.py",
        "        if lag.state.end >= 0:\n",
        "        if False:\n",
        LATE,
    ),
    Client(
        "every late row is counted",
        "planning/too_late.py",
        "            late.pop(key).ended = True\n",
        "            late.pop(key).ended = True\n        for key in late:\n            late[key].ended = True\n",
        LATE,
    ),
)

"""Rules of the simulation behind the advisor."""

from rule_breaks.breaking import Break

FLEET, WORKLOADS = ("test_virtual_fleet.py",), ("test_workloads.py",)

SIMULATION: tuple[Break, ...] = (
    Break(
        "late rows go by the watermark of one batch earlier",
        "simulate/readers.py",
        "cutoff = self._cutoff(self._closed)",
        "cutoff = self._cutoff(self.watermark)",
        FLEET,
    ),
    Break(
        "a row is late with its whole window",
        "simulate/readers.py",
        "return watermark // window * window if window else watermark + 1",
        "return watermark + 1",
        FLEET,
    ),
    Break(
        "native Spark shares a batch by what is unread",
        "simulate/readers.py",
        "(max(1, budget * unread[name] // total) if unread[name] else 0)",
        "(max(1, budget // len(ends)) if unread[name] else 0)",
        FLEET,
    ),
    Break(
        "a live split's plan goes by what its producer has shown",
        "simulate/readers.py",
        "return None if lag is None else max(lag, self._bounds.max_drift)",
        "return 0",
        FLEET,
    ),
    Break(
        "a plan keeps to the group's ceiling",
        "simulate/fleet.py",
        "plan = draft.plan(ceiling)",
        "plan = draft.plan()",
        FLEET,
    ),
    Break(
        "few splits are simulated one by one",
        "simulate/workload.py",
        "        if len(self.splits) <= most:\n            return self\n",
        "",
        (*FLEET, *WORKLOADS),
    ),
    Break(
        "the advice loses no row",
        "simulate/sweep.py",
        "whole = [outcome for outcome in self.aligned if not outcome.lost]",
        "whole = list(self.aligned)",
        FLEET,
    ),
    Break(
        "the advice keeps live records fresh",
        "simulate/sweep.py",
        "and outcome.longest_wait_ms * FAST_ENOUGH <= freshest",
        "",
        FLEET,
    ),
    Break(
        "a record is appended its lag after its event time",
        "simulate/workload.py",
        "self.up_to(wall - self.lag_ms)",
        "self.up_to(wall)",
        WORKLOADS,
    ),
)

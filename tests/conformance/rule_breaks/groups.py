"""Rules of groups of readers that catch up."""

from rule_breaks.breaking import Break

MODEL = ("test_catch_up_model.py",)

GROUPS: tuple[Break, ...] = (
    Break(
        "strict is the lowest watermark plus the drift",
        "group/alignment.py",
        "ceiling = add(lowest, group.config.max_drift_ms)",
        "ceiling = add(lowest, group.config.max_drift_ms + 1)",
        ("test_alignment.py",),
    ),
    Break(
        "a later MIN counts",
        "group/reporting.py",
        "if (old is None or old.epoch != event.epoch) and event.watermark == MIN",
        "if event.watermark == MIN",
        ("test_commands.py",),
    ),
    Break(
        "joint is never below strict",
        "group/alignment.py",
        "ceiling = max(ceiling, group.readers.lowest_reach(with_lost=with_lost))",
        "ceiling = group.readers.lowest_reach(with_lost=with_lost)",
        MODEL,
    ),
    Break(
        "joint goes no further than the lowest reach",
        "group/alignment.py",
        "max(ceiling, group.readers.lowest_reach(with_lost=with_lost))",
        "add(max(ceiling, group.readers.lowest_reach(with_lost=with_lost)), group.config.max_drift_ms)",
        MODEL,
    ),
    Break(
        "a reader that offers nothing stands for its watermark",
        "group/readers.py",
        "    reach = watermark\n",
        "    reach = watermark if reported is not None and reported.reach is not None else MAX\n",
        MODEL,
    ),
    Break(
        "a lost reader that holds bounds what the others offer",
        "group/readers.py",
        "lowest = self._lowest[_REACH]\n        return min(lowest, self._lowest[_LOST]) if with_lost else lowest",
        "return self._lowest[_REACH]",
        ("test_leases.py",),
    ),
    Break(
        "a reach is never above the last event time in the logs",
        "plan/draft.py",
        "return min(self._own.target, max(self._highest_times().values(), default=watermark.MIN))",
        "return self._own.target",
        MODEL,
    ),
    Break(
        "a reach is never above the reader's own horizon",
        "plan/draft.py",
        "return min(self._own.target, max(self._highest_times().values(), default=watermark.MIN))",
        "return max(self._highest_times().values(), default=watermark.MIN)",
        ("test_horizons.py",),
    ),
    Break(
        "no plan is above the ceiling",
        "plan/draft.py",
        "= min(ceiling, target), None",
        "= min(ceiling + 5, target), None",
        MODEL,
    ),
    Break(
        "what an older epoch had reported counts until the newer one reports",
        "group/registering.py",
        "inherited = None if old is None else _inherited(old, group, now)",
        "inherited = None",
        MODEL,
    ),
)

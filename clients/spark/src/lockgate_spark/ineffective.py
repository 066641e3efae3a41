"""Warnings about options without effect beside others, under a trigger or in a gate."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields

from lockgate_http.config import Coordinator
from lockgate_spark.config import Alignment

log = logging.getLogger("lockgate")

Rules = Mapping[str, tuple[Callable[[Alignment], bool], str]]
"""By option of `Alignment` or of its `Coordinator`: when it has no effect, and what to do."""

_OWN = {field.name: field.default for field in fields(Alignment)}
_OF_GROUP = {field.name: field.default for field in fields(Coordinator)}

_BESIDE_THE_OTHERS: Rules = {
    "slice": (
        lambda given: given.mode == "observe",
        'mode="observe" cuts no batches, so slice_of(batch) is None; leave slice out of the dry run',
    ),
    "slice_zone": (lambda given: given.slice is None, "set slice as well, or leave slice_zone out"),
    "report": (lambda given: given.mode != "observe", 'set mode="observe" as well, or leave report out'),
    **{
        name: (lambda given: given.late_rows != "keep", f'set late_rows="keep" as well, or leave {name} out')
        for name in ("late_rows_path", "late_rows_topic")
    },
    "max_lag": (
        lambda given: given.idle_timeout is not None,
        "idle_timeout is the bound for all partitions; leave one of the two out",
    ),
    "hold_for": (
        lambda given: given.coordinator is not None and given.coordinator.on_outage == "hold",
        'on_outage="hold" waits without a time limit; set on_outage to "proceed" or "fail", or leave hold_for out',
    ),
}
_UNDER_OTHER_TRIGGERS: Rules = {
    name: (lambda given: True, "it only applies under trigger(availableNow=True); leave it out for this trigger")
    for name in ("max_wait", "park")
}
_IN_A_GATE: Rules = {
    name: (lambda given: True, f"a gate makes whole batches wait and plans no reads; leave {name} out")
    for name in ("slice_zone", "max_lag", "other_event_time", "report")
} | {"hold_for": _BESIDE_THE_OTHERS["hold_for"]}


def warn_of_options(alignment: Alignment, available_now: bool) -> None:
    _warn(alignment, _BESIDE_THE_OTHERS)
    warn_of_trigger(alignment, available_now)


def warn_of_trigger(alignment: Alignment, available_now: bool) -> None:
    if not available_now:
        _warn(alignment, _UNDER_OTHER_TRIGGERS)


def warn_of_gate(alignment: Alignment) -> None:
    _warn(alignment, _IN_A_GATE)


def _warn(alignment: Alignment, rules: Rules) -> None:
    for name, (applies, remedy) in rules.items():
        of, defaults = (alignment, _OWN) if name in _OWN else (alignment.coordinator, _OF_GROUP)
        value = defaults[name] if of is None else getattr(of, name)
        if value != defaults[name] and applies(alignment):
            log.warning("%s(%s=%r) has no effect here: %s", type(of).__name__, name, value, remedy)

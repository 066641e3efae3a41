"""The start of a run: it joins its group, and warns of options that have no effect in it."""

import logging
from collections.abc import Mapping
from dataclasses import fields

from lockgate.wire.events import CatchUp
from lockgate_http.config import Coordinator
from lockgate_http.group.agreement import Agreement, source_name
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment, bounds_of
from lockgate_spark.spark_run import SparkRun

log = logging.getLogger("lockgate")

_DEFAULTS = {field.name: field.default for field in (*fields(Alignment), *fields(Coordinator))}


def agreement_of(alignment: Alignment) -> Agreement:
    """Return the settings on which a query, which has a coordinator, must agree with its group."""
    assert alignment.coordinator is not None
    bounds = bounds_of(alignment)
    return Agreement(
        group=alignment.coordinator.group,
        max_drift=bounds.max_drift,
        chose_drift=alignment.max_drift is not None,
        disorder=bounds.disorder,
        catch_up=CatchUp(alignment.coordinator.catch_up),
    )


def joined(alignment: Alignment, run: SparkRun) -> Membership | None:
    """Join the group for one run. Return None without a group, and in observe mode."""
    coordinator = alignment.coordinator
    if coordinator is None or alignment.mode == "observe":
        return None  # a reader that reports would hold other queries
    source = source_name(coordinator.source, run.name, run.query_id)
    session = GroupSession.joined(coordinator)
    return Membership(session, coordinator, agreement_of(alignment), source, owner=run.query_id, run=run.run_id)


def warn_of_options(alignment: Alignment, available_now: bool) -> None:
    remedies = _of_outages(alignment)
    if alignment.mode == "observe":
        remedies["slice"] = 'mode="observe" cuts no batches, so slice_of(batch) is None; leave slice out of the dry run'
    else:
        remedies["report"] = 'set mode="observe" as well, or leave report out'
    if alignment.slice is None:
        remedies["slice_zone"] = "set slice as well, or leave slice_zone out"
    if alignment.late_rows != "keep":
        for name in ("late_rows_path", "late_rows_topic"):
            remedies[name] = f'set late_rows="keep" as well, or leave {name} out'
    if alignment.idle_timeout is not None:
        remedies["max_lag"] = "idle_timeout is the bound for all partitions; leave one of the two out"
    _warn(alignment, remedies)
    warn_of_trigger(alignment, available_now)


def warn_of_trigger(alignment: Alignment, available_now: bool) -> None:
    if not available_now:
        remedy = "it only applies under trigger(availableNow=True); leave it out for this trigger"
        _warn(alignment, dict.fromkeys(("max_wait", "park"), remedy))


def warn_of_gate(alignment: Alignment) -> None:
    useless = ("slice_zone", "max_lag", "other_event_time", "report")
    remedies = {name: f"a gate makes whole batches wait and plans no reads; leave {name} out" for name in useless}
    _warn(alignment, remedies | _of_outages(alignment))


def _of_outages(alignment: Alignment) -> dict[str, str]:
    holds = alignment.coordinator is not None and alignment.coordinator.on_outage == "hold"
    remedy = 'on_outage="hold" waits without a time limit; set on_outage to "proceed" or "fail", or leave hold_for out'
    return {"hold_for": remedy} if holds else {}


def _warn(alignment: Alignment, remedies: Mapping[str, str]) -> None:
    """Log the remedy for each of these options of the alignment or its coordinator that is set."""
    for name, remedy in remedies.items():
        of = alignment if hasattr(alignment, name) else alignment.coordinator
        value = getattr(of, name, _DEFAULTS[name])
        if value != _DEFAULTS[name]:
            log.warning("%s(%s=%r) has no effect here: %s", type(of).__name__, name, value, remedy)

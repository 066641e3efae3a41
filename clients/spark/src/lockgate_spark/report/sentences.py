"""The findings of an observed run in sentences, for people who run the query or pay for it."""

from datetime import datetime, timezone

from lockgate.duration import spoken
from lockgate_spark.logs.unread import names
from lockgate_spark.report.findings import Basis, Findings, RunState, advice, kept

_STATES = {
    RunState.RUNNING: "The query is running; these are its figures so far",
    RunState.ENDED: "The query has ended",
    RunState.FAILED: "The query has failed",
    RunState.CUT_OFF: "The process ended while the query ran",
}
_OTHER_TIME = "Its watermark goes by another event time than the one that this run has looked at."
_MOST_PARTITIONS = 5


def headline(found: Findings) -> str:
    """Return a sentence that says how many of the rows were lost."""
    loss, rows = found.loss, f"{found.rows:,} {'row' if found.rows == 1 else 'rows'}"
    if loss.most is None:
        least = f"At least {loss.least:,}" if loss.least else "An unknown number"
        return f"{least} of {rows} were lost."
    if loss.most == 0:
        return f"No row of {rows} was lost."
    percent = 100 * loss.most / max(1, found.rows)
    share = " (under 0.1 %)" if percent < 0.1 else f" ({percent:.1f} %)".replace(".0 %", " %")
    share = share if found.rows else ""
    if loss.exact:
        return f"{loss.most:,} of {rows}{share} {'was' if loss.most == 1 else 'were'} lost."
    return f"Up to {loss.most:,} of {rows}{share} were lost."


def meaning(found: Findings) -> str:
    """Return sentences that explain the headline and how exact it is."""
    loss = found.loss
    if loss.most == 0 and loss.basis is Basis.STATELESS:
        return "This query keeps no state by event time, so Spark drops no row for being late."
    if loss.most == 0:
        return "Spark has dropped no row for being late."
    if loss.most is None:
        uncounted = f"The late rows were not counted: {found.uncounted}." if found.uncounted else _OTHER_TIME
        return f"Spark drops rows that it reads too late, without an error. {uncounted}"
    if loss.exact:
        return "Spark read them after its watermark had passed them, and dropped them without an error."
    least = f"The operators dropped at least {loss.least:,}" if loss.least else "How many were dropped is not known"
    said = "Spark drops rows that it reads after its watermark has passed them, without an error."
    return f"{said} {least}. {_between(found)}".strip()


def saving(found: Findings) -> str:
    """Return a sentence that says how many of the lost rows alignment would have kept."""
    would = kept(found)
    if found.loss.most == 0:
        return "Alignment would have kept the same rows."
    if would.least is None:
        return f"How many of them alignment would have kept is not known: {would.why}."
    if would.why:
        return f"Alignment would have kept all of them except {found.too_late:,}: {would.why}."
    return "Alignment would have kept all of them."


def why(found: Findings) -> str:
    """Return sentences on how far apart the partitions were, if a plan was made."""
    apart, delay = found.apart_ms, found.delay_ms
    if apart is None:
        return ""
    if delay is None:
        return f"The partitions were up to {spoken(apart)} apart in event time."
    over = "more than" if apart > delay else "within"
    ahead = max(found.partitions, key=lambda partition: partition.ahead_ms)
    first = names_of(found)[ahead.source, ahead.partition]
    return (
        f"The partitions were up to {spoken(apart)} apart in event time, {over} the {spoken(delay)} that the "
        f"query's watermark waits. {first} was furthest ahead."
    )


def where(found: Findings) -> str:
    """Return a sentence on the partitions and times of the lost rows, if any."""
    worst = sorted((s for s in found.partitions if s.lost), key=lambda s: (-s.lost, s.source, s.partition))
    if not worst or found.loss.basis is Basis.STATELESS:
        return ""
    called = names_of(found)
    named = ", ".join(f"{called[s.source, s.partition]} ({s.lost:,})" for s in worst[:_MOST_PARTITIONS])
    more = f" and {len(worst) - _MOST_PARTITIONS} more" if len(worst) > _MOST_PARTITIONS else ""
    times = [moment.at for moment in found.moments if moment.lost]
    who = "They" if found.loss.basis is Basis.ROWS else "The late rows"
    return f"{who} came from {named}{more}, in batches of {span(min(times), max(times))}."


def paragraph(found: Findings) -> str:
    """Return all sentences as one paragraph, for the log."""
    given = [each for each in advice(found) if each.value is not None and each.option != "withWatermark"]
    parts = [headline(found), meaning(found), where(found), why(found), saving(found)]
    if found.loss.most != 0 and given:
        do = "; ".join(
            f"max_drift={each.value!r}" if each.option == "max_drift" else f"{each.option} {each.value}"
            for each in given
        )
        parts.append(f'To keep them: mode="align" with {do}.')
    parts += [plans(found), table(found)]
    return " ".join(part for part in parts if part)


def plans(found: Findings) -> str:
    """Return a sentence that says how far Spark's batches went beyond the plans."""
    return (
        f"Spark read {found.batches:,} batches, {found.ahead:,} of them ahead of the plan, by {found.offsets_ahead:,} "
        "offsets in all."
    )


def table(found: Findings) -> str:
    """Return a sentence that says how to read the table of late rows; empty without a table."""
    if found.late_rows_path is None:
        return ""
    return f'The lost rows are in a table: lockgate_spark.late_rows("{found.late_rows_path}") reads it.'


def unknown(found: Findings) -> list[str]:
    """Return what limits the accuracy of the figures, one sentence for each limit."""
    order = spoken(found.out_of_orderness_ms)
    sentences = {
        f"Late rows were not counted: {found.uncounted}.": found.uncounted,
        _between(found): not found.loss.exact and found.loss.basis is not Basis.UNCOUNTED,
        "The query's watermark uses another event time than the one that this run measured.": not found.seen,
        f"Records within one partition were out of order by at least {order}, by samples.": found.out_of_orderness_ms,
        f"At least {found.left_out:,} records have a time stamp outside the bounds, and were left out.": found.left_out,
        "At least one plan could not be made; the distances of those batches are missing.": found.failed_plans,
        "The query has a coordinator. In observe mode it joins no group, and has no read limit.": found.in_group,
        "Distances are between the first unread records of two partitions, so a gap in a partition counts.": True,
        "The figures are of this run only, without rows that earlier runs lost.": True,
    }
    return [sentence for sentence, applies in sentences.items() if sentence and applies]


def state(found: Findings) -> str:
    """Return sentences with the query's name, the period of the run, and its state."""
    name = f'Query "{found.query}"' if found.query else f"Query {found.query_id}"
    return f"{name}, {span(found.began, found.until)}. {_STATES[found.state]}."


def names_of(found: Findings) -> dict[tuple[int, str], str]:
    keys = [(partition.source, partition.partition) for partition in found.partitions]
    return names(keys, keys)


def clock(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def span(start: float, end: float) -> str:
    """Return a period as text, such as `2026-01-01 10:00:00 to 10:05:00 UTC`."""
    first, last = clock(start), clock(end)
    if first == last:
        return f"{first} UTC"
    return f"{first} to {last[11:] if first[:10] == last[:10] else last} UTC"


def _between(found: Findings) -> str:
    """Return why the bounds on the number of lost rows differ."""
    if found.repeated:
        return (
            "Spark's own count has some rows twice, because foreachBatch has several actions or a task failed, "
            "so it is no lower bound."
        )
    if found.loss.basis is Basis.BETWEEN:
        return (
            "A windowed operator counts dropped rows after a first aggregation, so Spark's own figure is too low; "
            "not every row that is late where it is read is dropped, so their number is too high."
        )
    return ""

"""Exchanges of readers without pauses, and without reports unless a test has some."""

from lockgate.enumerator import exchange as rule
from lockgate.enumerator.arrivals import LastReports
from lockgate.enumerator.exchange import Exchanged
from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.group.now import Now
from lockgate.steps import at_once
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import SplitExchange

NO_REPORTS = LastReports(None, "s")


def exchange(
    enumerator: Enumerator,
    reader: ReaderId,
    source: str,
    event: SplitExchange,
    config: GroupConfig,
    now: Now,
    reports: LastReports = NO_REPORTS,
) -> Exchanged:
    return at_once(rule.exchange(enumerator, reader, source, event, config, now, reports))

"""Exchanges of readers without pauses, and without reports unless a test has some."""

from lockgate.enumerator import exchange as rule
from lockgate.enumerator.arrivals import LastReports
from lockgate.enumerator.exchange import Exchanged
from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.group.now import Now
from lockgate.steps import at_once
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import SplitExchange

NO_REPORTS = LastReports({}, "s")
CONFIG = GroupConfig(lease_ms=900, update_interval_ms=100)


def exchange(
    enumerator: Enumerator,
    reader: ReaderId,
    event: SplitExchange,
    now_ms: int,
    config: GroupConfig = CONFIG,
    reports: LastReports = NO_REPORTS,
) -> Exchanged:
    return at_once(rule.exchange(enumerator, reader, "s", event, config, Now(now_ms), reports))

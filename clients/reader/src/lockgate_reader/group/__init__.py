"""The place of a reader in a group, for `consumer`: the coordinator sets its read limit, and
assigns its splits with a lease. docs/internals/protocol.md has the protocol. The rules are in
`standing` (what is reported), `holdings` (which splits are held) and `fencing` (until when).
"""

from lockgate.wire.events import CatchUp
from lockgate_http.config import Coordinator
from lockgate_http.group.agreement import Agreement, source_name
from lockgate_http.group.joining import check_coordinator
from lockgate_reader.config import Options
from lockgate_reader.group.from_kafka import FromKafka
from lockgate_reader.group.holdings import SourceWishes
from lockgate_reader.group.joined import JoinedPlace
from lockgate_reader.group.reports import ReportingPlace
from lockgate_reader.group.subtasks import Identity

__all__ = ["FromKafka", "JoinedPlace", "ReportingPlace", "joined_place", "reporting_place"]


def joined_place(coordinator: Coordinator, options: Options) -> JoinedPlace:
    """Return the place of a reader whose splits the coordinator assigns, after checking the
    coordinator.

    Raises `ConfigurationError` if the group has a different drift or may not be created, and
    `CoordinatorRefused` if the coordinator rejects the reader.
    """
    wishes = SourceWishes(options.start, options.discovery_ms, bounded=options.ending_offsets is not None)
    return JoinedPlace(coordinator, _agreement(coordinator, options), _identity(coordinator, options), wishes)


def reporting_place(coordinator: Coordinator, options: Options) -> ReportingPlace:
    """Return the place of a reader to which the coordinator assigns no splits. Raises the same
    errors as `joined_place`.
    """
    return ReportingPlace(coordinator, _agreement(coordinator, options), _identity(coordinator, options))


def _agreement(coordinator: Coordinator, options: Options) -> Agreement:
    agreement = Agreement(
        group=coordinator.group,
        max_drift=options.max_drift_ms,
        chose_drift=options.max_drift is not None,
        disorder=options.disorder_ms,
        catch_up=CatchUp(coordinator.catch_up),
        settings="AlignedConsumer",
        asker="reader",
    )
    check_coordinator(coordinator, agreement)
    return agreement


def _identity(coordinator: Coordinator, options: Options) -> Identity:
    return Identity(source_name(coordinator.source, None, options.name))

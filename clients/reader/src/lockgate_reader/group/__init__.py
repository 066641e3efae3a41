"""A reader's place in a group, over a coordinator: its splits, its ceiling, and its lease.
Used by the consumer, by way of `place_of`. The wire stands in docs/internals/protocol.md; the
rules are in `holdings` (what is held), `standing` (what is reported) and `fencing` (until when).
"""

from lockgate.wire.events import CatchUp
from lockgate_http.config import Coordinator
from lockgate_http.group.agreement import Agreement, source_name
from lockgate_http.group.joining import check_coordinator
from lockgate_reader.config import Options
from lockgate_reader.group.holdings import SourceWishes
from lockgate_reader.group.joined import JoinedPlace
from lockgate_reader.group.subtasks import Identity

__all__ = ["JoinedPlace", "place_of"]


def place_of(coordinator: Coordinator, options: Options) -> JoinedPlace:
    """Return the `JoinedPlace` of a reader with these options, after checking the coordinator.

    Raises `ConfigurationError` if the group has a different drift or may not be created, and
    `CoordinatorRefused` if the coordinator rejects the reader.
    """
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
    wishes = SourceWishes(options.start, options.discovery_ms, bounded=options.ending_offsets is not None)
    identity = Identity(source_name(coordinator.source, None, options.name))
    return JoinedPlace(coordinator, agreement, identity, wishes)

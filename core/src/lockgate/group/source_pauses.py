"""Pauses by an operator: a source reads nothing new until an operator resumes it.

A pause is kept in the group, so it outlives the source's readers, their restarts, and the
coordinator. The group's announcement names it. Meanwhile a reader of the source behaves as if its
ceiling were MIN: it plans no records, but still reports. So

* it keeps its lease, and blocks the group as before. The others pass it only with `max_wait_ms` and
  `proceed`, as they pass any reader that takes too long.
* it makes no offer: a reach that it reports (`alignment`) is ignored, since it runs no batch until
  it is resumed.
* the revision rises with a pause and with a resumption, so that streams and long polls deliver
  them, although no watermark has moved.

A second pause changes nothing, and keeps the first operator's name.
"""

from dataclasses import replace

from lockgate.errors import UnknownSource
from lockgate.group.group import Group, tick
from lockgate.group.leases import without_reach
from lockgate.wire.events import SourcePause


def pause(group: Group, pause: SourcePause, now_ms: int) -> Group:
    """Return the group with `pause` added, or the same object if the source was paused already.

    Raises `UnknownSource` for a source that has no reader and is not expected.
    """
    source = pause.source
    if group.pause_of(source) is not None:
        return group
    if not group.readers.has_source(source) and source not in group.config.expected_sources:
        raise UnknownSource(group.name, source)
    without_offers = {
        key: reader._replace(reported=without_reach(reader.reported))
        for key, reader in group.readers.items()
        if key[0] == source and reader.reported is not None and reader.reported.reach is not None
    }
    return replace(
        group,
        paused_sources=tuple(sorted((*group.paused_sources, pause), key=lambda each: each.source)),
        readers=group.readers.updated(without_offers),
        revision=tick(group.revision, now_ms),
    )


def resume(group: Group, source: str, now_ms: int) -> Group:
    """Return the group without the pause of a source, or the same object if it was not paused."""
    if group.pause_of(source) is None:
        return group
    others = tuple(pause for pause in group.paused_sources if pause.source != source)
    return replace(group, paused_sources=others, revision=tick(group.revision, now_ms))

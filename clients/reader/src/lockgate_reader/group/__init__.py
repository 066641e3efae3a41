"""Places (`lockgate_reader.place`) of readers in an alignment group: the coordinator sets the read
limit, and may assign the splits.

`lockgate_reader.consumer` uses this package. docs/internals/protocol.md describes the protocol. The
rules are in `standing` (what a reader reports), `holdings` (which splits it should read) and
`fencing` (until when it may read them).
"""

from lockgate_reader.group.joined import JoinedPlace
from lockgate_reader.group.reports import ReportingPlace

__all__ = ["JoinedPlace", "ReportingPlace"]

"""The place of a reader in a group: the coordinator sets its read limit, and may assign its splits.

`consumer` uses it. docs/internals/protocol.md has the protocol. The rules are in `standing` (what
is reported), `holdings` (which splits are held) and `fencing` (until when).
"""

from lockgate_reader.group.from_kafka import FromKafka
from lockgate_reader.group.joined import JoinedPlace
from lockgate_reader.group.reports import ReportingPlace

__all__ = ["FromKafka", "JoinedPlace", "ReportingPlace"]

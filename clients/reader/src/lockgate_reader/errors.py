"""The reader's own error. Errors shared with other clients are in `lockgate_http.errors`."""

from lockgate_http.errors import AlignmentError


class NoStartingOffset(AlignmentError):
    """Raised if a split has no position to continue from, and the options do not give one: no
    offset was committed, Kafka has deleted the next record, or the topic was created again.
    """

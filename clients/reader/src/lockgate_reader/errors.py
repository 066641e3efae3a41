"""The error of the reader alone. Those that it shares with other clients are in
`lockgate_client.errors`.

    lockgate_client.errors.AlignmentError
    └── NoStartingOffset         a split has no position to begin at, and none is guessed
"""

from lockgate_client.errors import AlignmentError


class NoStartingOffset(AlignmentError):
    """Nothing was committed for a split, or Kafka no longer has what comes next, and the options do
    not say where to begin.
    """

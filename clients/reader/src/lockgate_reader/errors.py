"""The error of the reader alone. Those that it shares with other clients are in
`lockgate_client.errors`.

    lockgate_client.errors.AlignmentError
    └── NoStartingOffset         a split has no position to read on at, and none is guessed
"""

from lockgate_client.errors import AlignmentError


class NoStartingOffset(AlignmentError):
    """Nothing was committed for a split, Kafka no longer has what comes next, or the topic was made
    anew; and the options do not say where to go on.
    """

"""The parts that lockgate's clients share: calls to the coordinator, and membership in a group.

Users import `lockgate_spark` or `lockgate_reader`, which are built on this package. Schedulers use
`wait_until`.
"""

from lockgate_http.config import Coordinator
from lockgate_http.errors import AlignmentError
from lockgate_http.waiting import wait_until

__all__ = ["AlignmentError", "Coordinator", "wait_until"]

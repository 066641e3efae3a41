"""What lockgate keeps beside a query's checkpoint. It is a memory, and no more: a text that this
release cannot have written is forgotten, with one warning, and written anew.
"""

import json
import logging
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

log = logging.getLogger("lockgate")

T = TypeVar("T")


class Memory(Protocol):
    """Keeps two texts across restarts."""

    def read(self) -> list[str]:
        """Return what is kept; a text that was cut off while it was written may be among it."""

    def write(self, number: int, text: str) -> None:
        """Keep a text in place of the one that was written two numbers before."""


def remembered(texts: Iterable[str], parse: Callable[[object], T], what: str) -> list[T]:
    """Return what `parse` makes of each text.

    `parse` gets the values of the text's JSON, and may raise `ValueError`. `what` names the texts
    in the warning about those that cannot be read.
    """
    found, faults = [], []
    for text in texts:
        try:
            found.append(parse(json.loads(text)))
        except (ValueError, RecursionError) as error:
            faults.append(f"{error} in {text[:80]!r}")
    if faults:
        log.warning(
            "ignoring an unreadable file of %s in <checkpoint>/lockgate. The query writes a new one, so there is "
            "nothing to do: %.300s",
            what,
            faults[0],
        )
    return found

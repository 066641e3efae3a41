"""Long work in steps, so that a process can serve other requests in between.

A group may have thousands of readers, and one event may concern all of them. The work on such an
event is a generator, which yields after each step and finally returns its result. The coordinator
serves other requests at each yield. `at_once` runs a generator to its end without serving any.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields between its steps, and returns its result."""

ITEMS_OF_A_STEP = 500
"""The number of readers or splits in one step, which takes some milliseconds."""


def at_once(steps: Steps[T]) -> T:
    """Run all steps without a pause, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def for_each(items: Iterable[T], act: Callable[[T], object]) -> Steps[None]:
    """Call `act` on each item in order, and yield after every `ITEMS_OF_A_STEP` items."""
    for number, item in enumerate(items, 1):
        act(item)
        if not number % ITEMS_OF_A_STEP:
            yield


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `items` in order, as slices of at most `ITEMS_OF_A_STEP` items."""
    for first in range(0, len(items), ITEMS_OF_A_STEP):
        yield items[first : first + ITEMS_OF_A_STEP]

"""What Python's garbage collector does while fetched records wait."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from lockgate_reader.kafka import LEFT_TO_PYTHON, save_collection

CHUNK = 500


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    """Those of Python, which a coordinator in this process may have raised."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


class Record:
    """An object that the collector looks through, as it does through a message."""

    def __init__(self) -> None:
        self.itself: object = None


def keep(before: Callable[[int], None], chunks: int) -> None:
    kept: list[Record] = []
    for _ in range(chunks):
        before(CHUNK)
        kept += [Record() for _ in range(CHUNK)]


def collections(before: Callable[[int], None], chunks: int = 120) -> list[int]:
    """Return the generation of each collection while that many chunks of records are kept."""
    found: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            found.append(info["generation"])

    gc.collect()
    gc.callbacks.append(count)
    try:
        keep(before, chunks)
    finally:
        gc.callbacks.remove(count)
    return found


def older(generations: list[int]) -> int:
    return sum(generation > 0 for generation in generations)


def test_records_that_wait_start_few_collections_of_older_objects() -> None:
    assert older(collections(lambda messages: None)) >= 7
    assert older(collections(save_collection)) <= 120 // LEFT_TO_PYTHON


def test_garbage_among_older_objects_is_still_collected() -> None:
    record = Record()
    record.itself, gone = record, weakref.ref(record)
    gc.collect(0)  # it is an older object from now on
    del record
    keep(save_collection, 2 * LEFT_TO_PYTHON)
    assert gone() is None


def test_collector_that_the_program_has_disabled_stays_so() -> None:
    gc.disable()
    try:
        assert collections(save_collection) == []
    finally:
        gc.enable()

"""Keeps what lockgate logs, for fixtures of a module: `caplog` is each test's own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logged() -> Iterator[list[str]]:
    """Collect lockgate's messages from INFO up."""
    messages: list[str] = []
    logger, handler = logging.getLogger("lockgate"), logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield messages
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)

"""Warnings about splits whose records are further out of order than the plans allow for."""

import logging
from collections.abc import Mapping

from lockgate.duration import spoken
from lockgate_spark.logs.names import names
from lockgate_spark.logs.unread import Key, Source

log = logging.getLogger("lockgate")


class OutOfOrder:
    """The warnings about out-of-order records in one run. Each split is warned about once."""

    def __init__(self) -> None:
        self._warned: set[Key] = set()
        self._logged = 0

    def warn(
        self, sources: Mapping[int, Source], allowed: int, learned: int | None, steps: tuple[int, int] | None = None
    ) -> None:
        """Log a warning about each split in which a record was older than an earlier one by more
        than `allowed` (ms).

        `learned` is the measured out-of-orderness (ms) that the plans use; None if the user has set
        one. It is logged each time it has more than doubled. `steps` says how far (ms) a batch may
        go beyond the split with the lowest watermark, without this out-of-orderness and with it.
        """
        if learned is not None and learned > 2 * self._logged:
            self._logged = learned
            log.info(
                "%s: records are out of order by at least %s. max_out_of_orderness is not set, so the plans allow for "
                "this%s",
                _worst(sources),
                spoken(learned),
                ""
                if steps is None
                else f", and a batch reads up to {spoken(steps[1])} beyond the slowest partition instead of "
                f"{spoken(steps[0])}",
            )
        for i, source in sources.items():
            for split, known in source.log.learned.items():
                disorder = known.points.disorder
                if disorder <= allowed or (i, split) in self._warned:
                    continue
                self._warned.add((i, split))
                log.warning(
                    "the records of %s are out of order by at least %s, but the plans allow for %s: rows can be "
                    "late and dropped. Set Alignment(max_out_of_orderness=…), and a watermark delay of at least "
                    "max_drift + max_out_of_orderness",
                    _named((i, split), sources),
                    spoken(disorder),
                    spoken(allowed),
                )


def seen(sources: Mapping[int, Source]) -> dict[Key, int]:
    """Return the measured out-of-orderness (ms) of each split that has some."""
    return {
        (i, split): ms
        for i, source in sources.items()
        for split, learned in source.log.learned.items()
        if (ms := learned.points.disorder)
    }


def _worst(sources: Mapping[int, Source]) -> str:
    """Return the name of the partition whose records are furthest out of order."""
    found = seen(sources)
    return _named(max(found, key=lambda key: found[key]), sources) if found else "the query"


def _named(key: Key, sources: Mapping[int, Source]) -> str:
    return names([key], ((i, split) for i, source in sources.items() for split in source.log.learned))[key]

"""The check for streams that are not aligned, in a query that has aligned ones.

**Under one watermark.** Spark's watermark follows the highest event time of all streams under its
`withWatermark`. So a stream that is not aligned can move this watermark past rows of the aligned
streams, and past its own rows. If it is a Kafka stream, which could be aligned, the query is
refused. A warning is logged instead in observe mode, with `other_event_time="warn"`, and for
streams of other sources.

**Under separate watermarks.** Spark uses the lowest one, so an unaligned stream makes no aligned
row late. Its own rows may be late, as in plain Spark. With `multipleWatermarkPolicy=max`, Spark
uses the highest one. Then an unaligned stream can make aligned rows late, and a warning is logged.
"""

import logging
from collections.abc import Sequence

from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.query_watermark import POLICY, QueryWatermark, Unaligned

log = logging.getLogger("lockgate")


def check_origins(watermarks: Sequence[QueryWatermark], highest: bool, alignment: Alignment) -> None:
    """Check that the watermarks follow only aligned streams. `highest` says whether Spark uses the
    highest watermark.

    Raises `UnsupportedQuery` if a Kafka source that is not aligned shares a watermark with an
    aligned one. In observe mode and with `other_event_time="warn"`, a warning is logged instead.
    For all other unaligned streams, there is at most a log line.
    """
    beside = any(each.aligned for each in watermarks)
    for each in watermarks:
        for stream in each.unaligned:
            if each.aligned:
                _under_one(each, stream, alignment)
            elif beside and highest:
                _under_the_highest(each, stream)
            elif beside and stream.reader is not None:
                log.info(
                    "%s is not aligned, so its own rows can be late, as in plain Spark. %s",
                    stream.text,
                    _aligned(stream),
                )


def _under_one(found: QueryWatermark, stream: Unaligned, alignment: Alignment) -> None:
    finding = (
        f'withWatermark("{found.column}", …) is over aligned streams and over one that is not: {stream.text}. '
        "Spark's watermark follows the stream that is ahead, so rows of all of them can be late and dropped."
    )
    if stream.reader is None:
        log.warning(
            "%s Give each its own withWatermark before they are combined: Spark then uses the lowest watermark", finding
        )
    elif alignment.mode == "observe" or alignment.other_event_time == "warn":
        log.warning("%s %s", finding, _aligned(stream))
    else:
        raise UnsupportedQuery(
            f'{finding} {_aligned(stream)}. Alignment(other_event_time="warn") lets the query run as it is'
        )


def _under_the_highest(found: QueryWatermark, stream: Unaligned) -> None:
    log.warning(
        '%s is not aligned, and Spark uses the highest watermark (%s=max): withWatermark("%s", …) on it can make '
        "rows of the aligned streams late. %s",
        stream.text,
        POLICY,
        found.column,
        f"Leave {POLICY} out, with a new checkpoint" if stream.reader is None else _aligned(stream),
    )


def _aligned(stream: Unaligned) -> str:
    return f"Align it with the options of the others: lockgate_spark.align({stream.reader})"

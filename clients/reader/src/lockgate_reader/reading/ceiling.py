"""The ceiling of one reader: no record above it goes out. Pure.

It is the lower one of two. The group's comes from the reader's place. The reader's own is
`max_drift` above the watermark of its source, which is the lowest of its splits' (Flink's rule,
as in `lockgate.group.alignment`). Before the first watermark it is MIN: then nothing goes out, and
the first record of each split becomes known.

One case is added. A strategy may put a split's watermark further below its next record than
`max_drift`. Then no record could ever go out. So where every split that counts has a record that is
kept back, the own ceiling is not below the lowest of these: whenever there is something to read,
something may be read.
"""

from lockgate.watermark import add


def own_ceiling(watermark: int, max_drift_ms: int, all_known: bool, lowest_kept_back: int | None) -> int:
    """`watermark`: of the source, MIN before the first. `all_known`: every split that counts has a
    record that is kept back.
    """
    found = add(watermark, max_drift_ms)
    if all_known and lowest_kept_back is not None:
        return max(found, lowest_kept_back)
    return found

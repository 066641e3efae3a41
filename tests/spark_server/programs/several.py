"""Two streams that are planned together and cut into slices: what each batch knows of itself."""

import json

from streams import FOLDER, started_with_python, stream

from lockgate_spark import Alignment, align_all, alignment_of, slice_of


def take(batch, number):  # type: ignore[no-untyped-def]
    view, cut = alignment_of(batch), slice_of(batch)
    inside = cut.rows(batch).count()
    sources = sorted({split.source for split in view.partitions})
    with (FOLDER / "slices").open("a") as out:
        out.write(json.dumps([cut.start, cut.end, cut.complete, sources, batch.count(), inside]) + "\n")


one, two = align_all([stream(), stream()], Alignment(slice="3 hours"))
query = one.union(two).writeStream.foreachBatch(take).option("checkpointLocation", str(FOLDER / "checkpoint"))
started_with_python(query.trigger(availableNow=True)).awaitTermination()
print(json.dumps([json.loads(line) for line in (FOLDER / "slices").read_text().splitlines()]))

"""What a client of Spark Connect does, which has no JVM and no py4j: it asks the server's extension
by a hint on a DataFrame. Used by the ways in. The answers are made by the room `host`.
"""

from lockgate_spark.connect.batches import slice_of, status_of, view_of
from lockgate_spark.connect.streams import align_all

__all__ = ["align_all", "slice_of", "status_of", "view_of"]

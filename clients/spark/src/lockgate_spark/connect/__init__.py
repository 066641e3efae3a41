"""The client's side of Spark Connect. A client has no JVM and no py4j, so it asks the server's
extension by a hint on a DataFrame. The public functions use this package; `host` makes the answers.
"""

from lockgate_spark.connect.streams import align_all, late_rows_path, slice_of, status_of, view_of

__all__ = ["align_all", "late_rows_path", "slice_of", "status_of", "view_of"]

"""The client's side of Spark Connect. A client has no JVM and no py4j, so it sends each request to
the server's extension as a hint on a DataFrame. The public functions of `lockgate_spark` use this
package, and `host` answers the requests.
"""

from lockgate_spark.connect.streams import align_all, late_rows_path, slice_of, status_of, view_of

__all__ = ["align_all", "late_rows_path", "slice_of", "status_of", "view_of"]

"""Gates: whole batches of a query on any source wait until the query's group allows them.
Used by `lockgate_spark.gate`, the public function.
The rule and its reasons stand in `gates.rule`.
"""

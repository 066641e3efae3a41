"""Gates: whole batches of a query on any source wait until the query's group allows them. The
public function `lockgate_spark.gate` makes a gate. `gates.gate` has the rule and its reasons.
"""

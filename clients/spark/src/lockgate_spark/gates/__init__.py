"""Gates: whole batches of a query on any source wait until the query's group allows them. They are
made by the public function `lockgate_spark.gate`. `gates.rule` has the rule and its reasons.
"""

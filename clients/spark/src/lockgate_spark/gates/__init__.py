"""Gates: whole batches of a query on any source wait until the query's group allows them."""

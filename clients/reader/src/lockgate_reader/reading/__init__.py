"""The loop of one reader, which fetches records from Kafka and returns those up to the read limit.
`lockgate_reader.consumer` uses this package. `admission` computes the read limit and the partitions
to pause, and the loop in `reader` applies both.
"""

"""The loop of one reader, which fetches records and returns those up to the read limit."""

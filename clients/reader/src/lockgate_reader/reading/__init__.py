"""The loop of one reader, which returns the records that it fetches up to the read limit."""

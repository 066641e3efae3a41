"""Kafka's client: the only room that calls it. `reading` uses it."""

"""The only package that calls Kafka's client. `reading` uses it."""

"""Access to Kafka for `reading`. Only this package calls Kafka's client."""

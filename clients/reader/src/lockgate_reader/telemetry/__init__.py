"""What the consumer shows of itself: `status`, and metrics. `consumer` uses it."""

"""The loop of one reader: what Kafka's client has fetched, how far it may go out, and what it waits
for. `consumer` uses it. The decision is in `admission`, and the loop that obeys it in `reader`.
"""

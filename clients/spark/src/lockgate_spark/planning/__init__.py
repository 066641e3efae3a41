"""The planning of one query run, and what it tells of it."""

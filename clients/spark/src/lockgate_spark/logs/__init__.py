"""Split logs: what a plan wants to know of the records that are still unread."""

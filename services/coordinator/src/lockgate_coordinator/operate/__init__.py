"""What an operator says to a running coordinator: groups, describe, evict, leave, forget. Over
HTTP, as anybody else.
"""

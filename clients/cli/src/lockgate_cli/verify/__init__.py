"""The checker of recorded histories, for the command `lockgate verify`. The checker does no I/O,
and imports only the standard library. Call `rules.verify`.
"""

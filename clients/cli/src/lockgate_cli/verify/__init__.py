"""The checker of recorded histories behind `lockgate verify`. Call `rules.verify`.

It does no I/O, and imports only the standard library.
"""

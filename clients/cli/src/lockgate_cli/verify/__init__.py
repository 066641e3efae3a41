"""The checker of recorded histories, for the command `lockgate verify`. It is pure, and imports
nothing but the standard library. `rules` is the way in.
"""

"""Mistakes that people make, and the first line that each prints.

`catalogue` has the mistakes as the lines of code that a user would write. `world` has what these
lines use: topics, coordinators, tokens, certificates. The answers stand in `mistakes.txt`, to be
read for sense: what is wrong, where, and what to do.
"""

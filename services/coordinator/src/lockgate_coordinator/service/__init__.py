"""The commands of the protocol over a store: commit them, announce changes, inspect groups.
The API calls `coordinator`; everything else serves that. The rules are the core's.
Theory: the docstrings of `commit_queue` and `announcer`; docs/internals/protocol.md.
"""
